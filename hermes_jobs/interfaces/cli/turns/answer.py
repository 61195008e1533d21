"""`hermes-jobs turns answer`: answers a question of the agent or of a server from any terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    WaitingTurnId,
    WaitOptions,
    example,
    wait_options,
)
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.turns.actions import (
    WAIT_HELP,
    call_option,
    find_submitted,
    go_on_after_answer,
)

if TYPE_CHECKING:
    from hermes_jobs.interfaces.cli.questions.input import InputQuestion
    from hermes_jobs.kernel.turns.commands import AnswerInput
    from hermes_jobs.kernel.turns.submitted import Submitted


@command(
    "answer",
    epilog=example(
        'hermes-jobs turns answer t3k9 "the smaller one"',
        "hermes-jobs turns answer t3k9 --choice 2",
        "hermes-jobs turns answer t3k9 --field seat=12A --field meal=none",
    ),
)
@click.argument("text", type=TextParam(), required=False)
@click.option(
    "--choice",
    "choices",
    metavar="N",
    multiple=True,
    type=NonEmpty(),
    help="Choose by number or text; repeat it where several may be chosen.",
)
@click.option(
    "--field", "fields", metavar="NAME=VALUE", multiple=True, type=TextParam(), help="Fill in a field."
)
@click.option("--content", metavar="JSON", type=NonEmpty(), help="The whole form as a JSON object.")
@click.option("--accept", is_flag=True, help="Accept: you opened the address, or the defaults are right.")
@click.option("--decline", is_flag=True, help="Decline; the server is informed.")
@click.option("--cancel", is_flag=True, help="Dismiss without an answer; the server is informed.")
@call_option
@click.option(
    "--request", "key", metavar="KEY", type=NonEmpty(), help="Which request, if the call has several."
)
@wait_options(None, WAIT_HELP)
def answer_input(  # noqa: PLR0913 - its flags
    context: CliContext,
    *,
    turn_id: WaitingTurnId,
    text: str | None,
    choices: tuple[str, ...],
    fields: tuple[str, ...],
    content: str | None,
    accept: bool,
    decline: bool,
    cancel: bool,
    call: str | None,
    key: str | None,
    waiting: WaitOptions,
) -> int:
    """Answer what the agent, or a server during a tool call, asks.

    TEXT is the answer in your words. Without it and without a flag, the question is asked here. `turns show`
    prints the question with its choices or fields. The answer is recorded, and sent to the server that asks:
    never enter a secret.
    """
    from hermes_jobs.client.turns import Turns
    from hermes_jobs.interfaces.cli.questions.input import require_no_secret
    from hermes_jobs.kernel.turns.questions import content_of

    ways = [text is not None, bool(choices), bool(fields), content is not None, accept, decline, cancel]
    if sum(ways) > 1:
        raise click.UsageError(
            "TEXT, --choice, --field, --content, --accept, --decline and --cancel exclude each other."
        )
    submitted = find_submitted(context, turn_id)
    asker = Turns(context.application).asking(submitted, call)
    question = _question(context, asker, call, key)
    if text is not None or choices:
        content = content_of(question.input_request, text if text is not None else choices)
        answer = question.answer("accept", context.application.clock.now(), content)
    elif any(ways):
        answer = _given(context, question, fields, content, decline=decline, cancel=cancel)
    else:
        answer = _ask_here(context, question)
    require_no_secret(answer.content, context.settings.secrets.redact_known)
    return go_on_after_answer(context, submitted, asker, answer, waiting)


def _question(context: CliContext, asker: Submitted, call: str | None, key: str | None) -> InputQuestion:
    """The question. Raises `Rejected` if none or several match."""
    from hermes_jobs.errors import Rejected
    from hermes_jobs.interfaces.cli.questions.children import own_questions
    from hermes_jobs.interfaces.cli.questions.input import InputQuestion

    session = context.application.engine().sessions.load(asker.stream)
    turn = session.current
    open_ = [] if turn is None or turn.id != asker.turn else list(own_questions(session, turn))
    questions = [question for question in open_ if isinstance(question, InputQuestion)]
    questions = [
        question
        for question in questions
        if call in {None, question.call} and key in {None, question.input_request.key}
    ]
    if not questions:
        hint = f"It waits for your approval: hermes-jobs turns approve {asker.turn}" if open_ else ""
        raise Rejected(f"Turn {asker.turn} waits for no such answer.", kind="not_waiting", hint=hint)
    if len(questions) > 1:
        choices = ", ".join(
            f"--call {question.call} --request {question.input_request.key}" for question in questions
        )
        raise Rejected(
            f"Turn {asker.turn} waits for several answers.", kind="ambiguous", hint=f"One of: {choices}"
        )
    return questions[0]


def _given(
    context: CliContext,
    question: InputQuestion,
    fields: Sequence[str],
    content: str | None,
    *,
    decline: bool,
    cancel: bool,
) -> AnswerInput:
    """The answer from the flags. Raises `Rejected`, a usage error."""
    from hermes_jobs.interfaces.cli.questions.input import how_to_answer
    from hermes_jobs.kernel.turns.forms import from_texts

    now = context.application.clock.now()
    if decline or cancel:
        return question.answer("decline" if decline else "cancel", now)
    if question.input_request.url and (fields or content is not None):
        lines = "\n".join(how_to_answer(question.input_request, question.request.turn))
        raise click.UsageError(f"There is no field to fill in: open the address, then use --accept.\n{lines}")
    if content is not None:
        return question.answer("accept", now, content)
    pairs = [field.partition("=") for field in fields]
    for name, sign, _ in pairs:
        if not sign or not name:
            raise click.UsageError(f"--field is NAME=VALUE, not {name!r}.")
    names = [name for name, _, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f"The field {twice} is given twice.")
    texts = {name: value for name, _, value in pairs}
    if question.input_request.url:
        return question.answer("accept", now)
    return question.answer("accept", now, from_texts(question.input_request.fields, texts))


def _ask_here(context: CliContext, question: InputQuestion) -> AnswerInput:
    """The user's answer at this terminal. Raises a usage error without one."""
    from hermes_jobs.interfaces.cli.questions.input import ask_for_input, how_to_answer
    from hermes_jobs.interfaces.cli.questions.keyboard import can_ask

    clock = context.application.clock
    if not can_ask():
        lines = "\n".join(how_to_answer(question.input_request, question.request.turn))
        raise click.UsageError(f"There is no terminal: give the answer with flags.\n{lines}")

    def show(lines: Sequence[str]) -> None:
        for line in lines:
            click.echo(line, err=True)

    answer = ask_for_input(question, show, lambda: clock.now() < question.expires_at, clock.now)
    if answer is None:
        raise click.ClickException("The question expired.")
    sys.stderr.flush()
    return answer
