"""Commands on a turn: follow, wait, cancel, continue, retry, approve, deny."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command, shared_option
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    Json,
    OutputOptions,
    Quiet,
    Timeout,
    TurnId,
    WaitingTurnId,
    WaitOptions,
    budget_option,
    example,
    exclude,
    model_option,
    output_options,
    stream_option,
    wait_options,
)
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from hermes_jobs.kernel.events import ApprovalScope
    from hermes_jobs.kernel.turns.commands import ResumeTurn, SessionCommand
    from hermes_jobs.kernel.turns.submitted import Submitted

BY = "user"


@command("follow", epilog=example("hermes-jobs turns follow t3k9"))
@shared_option(Timeout, "timeout")
@click.option("--json", "--jsonl", "as_lines", is_flag=True, help="Print the turn's events as JSON lines.")
@stream_option
def follow_turn(
    context: CliContext,
    turn_id: TurnId,
    timeout: float | None,
    as_lines: bool,
    stream: bool | None,
    quiet: Quiet,
) -> int:
    """Follow a turn until its end, and print its answer.

    It starts with the events so far. If no worker is alive, the turn runs in this process.
    """
    options = output_options(as_json=False, as_jsonl=as_lines, stream=stream, quiet=quiet)
    return _follow(context, turn_id, options._replace(progress=not as_lines and not quiet), timeout)


@command("wait", epilog=example("hermes-jobs turns wait t3k9 --timeout 60"))
def wait_for_turn(context: CliContext, turn_id: TurnId, timeout: Timeout, as_json: Json, quiet: Quiet) -> int:
    """Wait until a turn ends, and print its answer.

    The exit code is that of `send`. If no worker is alive, the turn runs in this process.
    """
    options = output_options(as_json=as_json, as_jsonl=False, stream=False, quiet=quiet)
    return _follow(context, turn_id, options._replace(progress=False), timeout)


def _follow(context: CliContext, text: str, options: OutputOptions, timeout: float | None) -> int:
    """Follow a turn that was begun elsewhere; the exit code."""
    from hermes_jobs.interfaces.cli.turns.waiter import INLINE_NOTICE, follow

    turn = find_submitted(context, text)
    if context.application.views.turn(turn.turn).has_schema:
        options = options.for_document()
    return follow(context, turn, options, timeout, alone=INLINE_NOTICE)


@command("cancel", epilog=example("hermes-jobs turns cancel t3k9"))
def cancel_turn(context: CliContext, turn_id: TurnId, as_json: Json) -> None:
    """Cancel a turn.

    Its running calls are stopped; its messages stay in the session.
    """
    from hermes_jobs.client.turns import Turns

    after = Turns(context.application).cancel(turn_id)
    text = f"Turn {after.turn} is cancelled."
    if after.status != "cancelled":
        text = f"Turn {after.turn}: stopping; its running steps are being cancelled."
    print_result(lambda: after, text, as_json=as_json)


_BUDGET = budget_option("New budget of the whole turn.")
_MODEL = model_option("Model for the rest of the turn.")


@command("continue", epilog=example("hermes-jobs turns continue t3k9"))
@_BUDGET
@_MODEL
@wait_options(True, "Wait for the answer (the default), or print only the turn's id.")
def continue_turn(
    context: CliContext, turn_id: TurnId, budget: float | None, model: str | None, waiting: WaitOptions
) -> int:
    """Continue a turn that a limit stopped, and wait for its answer.

    It continues in the same session under the same id, after its last step. The limit starts again from zero.
    Settings in this environment override those that the turn was sent with.
    """
    from msgspec.structs import replace

    submitted = find_submitted(context, turn_id)
    again = _resumption(context, submitted, budget, model, waiting)
    return _go_on(context, submitted, replace(again, only_stopped=True), waiting)


@command("retry", epilog=example("hermes-jobs turns retry t3k9 --no-wait"))
@_BUDGET
@_MODEL
@wait_options(True, "Wait for the answer (the default), or print only the turn's id.")
def retry_turn(
    context: CliContext, turn_id: TurnId, budget: float | None, model: str | None, waiting: WaitOptions
) -> int:
    """Resume a failed or cancelled turn, and wait for its answer.

    It continues after its last recorded step, under the same id, with the settings that it was sent with.
    Settings in this environment override them. A turn that waits for a quota or a server is retried at once;
    with --model, by another model.
    """
    from hermes_jobs.client.submission import retrial

    submitted = find_submitted(context, turn_id)
    resumed = _resumption(context, submitted, budget, model, waiting)
    return _go_on(context, submitted, retrial(context.application, submitted, resumed), waiting)


def _resumption(
    context: CliContext, submitted: Submitted, budget: float | None, model: str | None, waiting: WaitOptions
) -> ResumeTurn:
    """The command that resumes a turn, with this environment's settings."""
    from hermes_jobs.client.submission import resumption
    from hermes_jobs.interfaces.cli.turns.options import resolve_model, resolve_settings
    from hermes_jobs.kernel.turns.session import lineage_of

    lineage = lineage_of(submitted.stream)
    chosen_model = resolve_model(context, model, lineage)
    carried = resolve_settings(context, chosen_model, lineage, wait=bool(waiting.wait))
    return resumption(
        context.application, submitted.turn, carried, model=chosen_model, budget_usd=budget, by=BY
    )


def _go_on(context: CliContext, submitted: Submitted, again: SessionCommand, waiting: WaitOptions) -> int:
    """Record the command that continues a turn, and wait for it by the options."""
    from hermes_jobs.interfaces.cli.detach import follow_or_detach
    from hermes_jobs.interfaces.cli.turns.waiter import INLINE_NOTICE

    context.application.engine().execute(submitted.stream, again)
    return follow_or_detach(context, submitted, waiting, alone=INLINE_NOTICE)


call_option = click.option("--call", metavar="CALL", type=NonEmpty(), help="Which call, if several wait.")
WAIT_HELP = "Wait for the turn's answer.  [default: where no worker is alive, until it needs you again]"


@command("approve", epilog=example("hermes-jobs turns approve t3k9 --call t3k9-1-0"))
@call_option
@click.option("--session", "for_session", is_flag=True, help="Allow such calls for the rest of the session.")
@click.option("--always", is_flag=True, help="Allow such calls in this folder from now on, by a rule.")
@wait_options(None, WAIT_HELP)
def approve_call(
    context: CliContext,
    turn_id: WaitingTurnId,
    call: str | None,
    for_session: bool,
    always: bool,
    waiting: WaitOptions,
) -> int:
    """Allow a tool call that waits for approval.

    The waiting call lists what --session and --always would allow besides it.

    `turns show` prints the call with its arguments. If no worker is alive, the turn continues in this
    process.
    """
    from hermes_jobs.client.turns import Turns
    from hermes_jobs.kernel.turns import commands as c

    exclude({"--session": for_session, "--always": always})
    submitted = find_submitted(context, turn_id)
    asker = Turns(context.application).asking(submitted, call)
    now = context.application.clock.now()
    scope: ApprovalScope = "always" if always else "session" if for_session else "once"
    answer = c.ApproveCall(turn=asker.turn, call=call, by=BY, now=now, scope=scope)
    return go_on_after_answer(context, submitted, asker, answer, waiting)


@command("deny", epilog=example("hermes-jobs turns deny t3k9"))
@call_option
@click.option(
    "--reason", metavar="TEXT", type=TextParam(), default="", help="Reason, which the agent is given."
)
@wait_options(None, WAIT_HELP)
def deny_call(
    context: CliContext, turn_id: WaitingTurnId, call: str | None, reason: str, waiting: WaitOptions
) -> int:
    """Refuse a tool call that waits for approval.

    The turn continues without it. If no worker is alive, it continues in this process.
    """
    from hermes_jobs.client.turns import Turns
    from hermes_jobs.kernel.turns import commands as c

    submitted = find_submitted(context, turn_id)
    asker = Turns(context.application).asking(submitted, call)
    answer = c.DenyCall(turn=asker.turn, call=call, by=BY, reason=reason.strip())
    return go_on_after_answer(context, submitted, asker, answer, waiting)


def go_on_after_answer(
    context: CliContext, submitted: Submitted, asker: Submitted, answer: SessionCommand, waiting: WaitOptions
) -> int:
    """Record a user's answer to a call, and continue the turn if no worker is alive.

    If the turn has ended without its sub-agent, the sub-agent's turn continues.
    """
    from hermes_jobs.interfaces.cli.detach import print_current
    from hermes_jobs.interfaces.cli.turns.waiter import INLINE_NOTICE, follow

    application = context.application
    application.engine().execute(asker.stream, answer)
    if application.views.turn(submitted.turn).ended_at is not None:
        submitted = asker
    wait, timeout, options = waiting
    if not application.workers.are_live() if wait is None else wait:
        return follow(context, submitted, options, timeout, alone=INLINE_NOTICE, until_asked=wait is None)
    if options.form == "text":
        note(f"Turn {submitted.turn} is {application.views.turn(submitted.turn).status}.")
    else:
        print_current(context, submitted, options)
    return 0


def find_submitted(context: CliContext, text: str) -> Submitted:
    """The turn that an id or the beginning of one means."""
    from hermes_jobs.client.turns import Turns

    return Turns(context.application).find(text)


ACTS = (follow_turn, wait_for_turn, cancel_turn, continue_turn, retry_turn, approve_call, deny_call)
"""The commands that `hermes-jobs turns` adds to `list` and `show`."""
