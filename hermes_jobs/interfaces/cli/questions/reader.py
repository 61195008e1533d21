"""Questions of a server during a read of a resource or prompt, asked at this terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.questions.input import (
    InputQuestion,
    ask_for_input,
    input_questions,
    require_no_secret,
)
from hermes_jobs.interfaces.cli.questions.keyboard import can_ask
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import forms

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.mcp.reader import McpReader


def reader_here(application: Application, *, unattended: bool = False) -> McpReader:
    """A reader of resources and prompts, whose servers' questions are asked at this terminal, if there is
    one."""
    reader = application.mcp_reader
    if unattended or not can_ask():
        return reader
    return reader.asking(lambda requested, is_withdrawn: ask_person(application, requested, is_withdrawn))


def ask_person(
    application: Application, requested: e.InputRequested, is_withdrawn: Callable[[], bool]
) -> Sequence[e.InputAnswered]:
    """The user's answers within the time limit. Raises `Rejected` if the user leaves."""
    try:
        return list(_answers(application, requested, is_withdrawn))
    except EOFError as error:
        raise Rejected(f"{requested.server} was not answered.", kind="mcp") from error


def _answers(
    application: Application, requested: e.InputRequested, is_withdrawn: Callable[[], bool]
) -> Iterator[e.InputAnswered]:
    now = application.clock.now

    def is_wanted() -> bool:
        return not is_withdrawn() and now() < requested.expires_at

    for question in input_questions(requested, requested.call):
        answer = None
        while answer is None and is_wanted():
            answer = _answer(application, question, is_wanted)
        if answer is None:
            note("It is too late to answer.")
            return
        note(f"  {question.effect(answer.action)}")
        yield answer


def _answer(
    application: Application, question: InputQuestion, is_wanted: Callable[[], bool]
) -> e.InputAnswered | None:
    """One answer; None if it is too late, or must be given again."""
    command = ask_for_input(question, _show, is_wanted, application.clock.now)
    if command is None:
        return None
    content = command.content
    try:
        if command.action == "accept" and not question.input_request.url:
            content = forms.checked(question.input_request.fields, content)
        require_no_secret(content, application.settings.secrets.redact_known)
    except Rejected as rejection:
        note(rejection.message)
        return None
    key = question.input_request.key
    return e.InputAnswered(
        turn="", call=question.call, key=key, action=command.action, by="user", content=content
    )


def _show(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
