"""A hand on a turn that runs, waits or has ended: following it, and what people decide about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import (
    WaitOptions,
    example,
    json_option,
    output_options,
    quiet_option,
    stream_option,
    timeout_option,
    turn_argument,
    wait_options,
)
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import FloatParam, NonEmpty

if TYPE_CHECKING:
    from hermes_jobs.domain.session.commands import SessionCommand
    from hermes_jobs.engine.engine import Submitted

BY = "user"


@click.command("follow", epilog=example("hermes-jobs turns follow t3k9"))
@turn_argument
@timeout_option
@click.option("--json", "--jsonl", "as_lines", is_flag=True, help="Print the turn's events, one a line.")
@stream_option
@quiet_option
@pass_context
def follow_turn(
    context: CliContext,
    turn_id: str,
    timeout: float | None,
    as_lines: bool,
    stream: bool | None,
    quiet: bool,
) -> int:
    """Show what happens in a turn until its end, then its answer.

    It begins with what has happened already. Where no worker is alive the turn runs in this process.
    """
    from hermes_jobs.interfaces.cli.turn_waiter import ALONE, follow

    options = output_options(as_json=False, as_jsonl=as_lines, stream=stream, quiet=quiet)
    options = options._replace(progress=not as_lines and not quiet)
    return follow(context, _find(context, turn_id), options, timeout, alone=ALONE)


@click.command("wait", epilog=example("hermes-jobs turns wait t3k9 --timeout 60"))
@turn_argument
@timeout_option
@json_option
@quiet_option
@pass_context
def wait_for_turn(
    context: CliContext, turn_id: str, timeout: float | None, as_json: bool, quiet: bool
) -> int:
    """Wait until a turn ends, and print its answer.

    The exit code is that of `send`. Where no worker is alive the turn runs in this process.
    """
    from hermes_jobs.interfaces.cli.turn_waiter import ALONE, follow

    options = output_options(as_json=as_json, as_jsonl=False, stream=False, quiet=quiet)
    return follow(context, _find(context, turn_id), options._replace(progress=False), timeout, alone=ALONE)


@click.command("cancel", epilog=example("hermes-jobs turns cancel t3k9"))
@turn_argument
@json_option
@pass_context
def cancel_turn(context: CliContext, turn_id: str, as_json: bool) -> None:
    """Cancel a turn.

    What runs for it is stopped; what was said stays.
    """
    from hermes_jobs.domain.session import commands as c
    from hermes_jobs.runtime.recovery import reclaim_from_dead_workers
    from hermes_jobs.views.turn_json import turn_json

    found = _find(context, turn_id)
    application = context.application
    engine = application.engine()
    session = engine.execute(found.stream, c.CancelTurn(turn=found.turn, by=BY))
    if found.turn not in session.ended:
        reclaim_from_dead_workers(engine, application.observer())  # else nobody may be left to end it
    after = application.views.turn(found.turn)
    if as_json:
        print_json(turn_json(after))
    elif after.status != "cancelled":
        note(f"Turn {after.id}: asked to stop; what is under way for it is being ended.")
    else:
        note(f"Turn {after.id} is cancelled.")


@click.command("retry", epilog=example("hermes-jobs turns retry t3k9 --no-wait"))
@turn_argument
@click.option(
    "--budget",
    type=FloatParam(),
    metavar="USD",
    help="What the turn may cost, all in all, in the place of its own budget.",
)
@click.option(
    "-m", "--model", metavar="NAME", type=NonEmpty(), help="Another model, for the rest of the turn."
)
@wait_options(True, "Wait for the answer (as by default), or print only the turn's id.")
@pass_context
def retry_turn(
    context: CliContext, turn_id: str, budget: float | None, model: str | None, waiting: WaitOptions
) -> int:
    """Go on with a failed or cancelled turn, and wait for its answer.

    It goes on after its last outcome, under the same id. A turn that waits for a quota is tried at once, with
    --model by another model.
    """
    from hermes_jobs.domain.session import commands as c
    from hermes_jobs.domain.session.session import lineage_of
    from hermes_jobs.interfaces.cli.detach import detach
    from hermes_jobs.interfaces.cli.turn_options import resolve_model
    from hermes_jobs.interfaces.cli.turn_waiter import ALONE, follow

    found = _find(context, turn_id)
    chosen = resolve_model(context, model, lineage_of(found.stream)) or ""
    engine = context.application.engine()
    waits = engine.sessions.load(found.stream).find(found.turn)
    again: SessionCommand = c.ResumeTurn(turn=found.turn, by=BY, budget_usd=budget, model=chosen)
    if waits is not None and waits.quota_until:
        again = c.EndWait(turn=found.turn, by=BY, model=chosen)
    engine.execute(found.stream, again)
    if not waiting.wait:
        return detach(context, found, waiting.output)
    return follow(context, found, waiting.output, waiting.timeout, alone=ALONE)


_CALL = click.option("--call", metavar="CALL", type=NonEmpty(), help="Which call, where several wait.")
_WHERE = "Wait for the turn's answer.  [default: where no worker is alive, until it needs you again]"


@click.command("approve", epilog=example("hermes-jobs turns approve t3k9 --call t3k9-1-0"))
@turn_argument
@_CALL
@wait_options(None, _WHERE)
@pass_context
def approve_call(context: CliContext, turn_id: str, call: str | None, waiting: WaitOptions) -> int:
    """Allow a tool call that waits for approval.

    `turns show` shows it with its arguments. Where no worker is alive this process goes on with the turn.
    """
    from hermes_jobs.domain.session import commands as c

    found = _find(context, turn_id)
    now = context.application.clock.now()
    answer = c.ApproveCall(turn=found.turn, call=call, by=BY, now=now)
    return _answer(context, found, answer, waiting)


@click.command("deny", epilog=example("hermes-jobs turns deny t3k9"))
@turn_argument
@_CALL
@wait_options(None, _WHERE)
@pass_context
def deny_call(context: CliContext, turn_id: str, call: str | None, waiting: WaitOptions) -> int:
    """Refuse a tool call that waits for approval.

    The turn goes on without it: where no worker is alive, in this process.
    """
    from hermes_jobs.domain.session import commands as c

    found = _find(context, turn_id)
    answer = c.DenyCall(turn=found.turn, call=call, by=BY)
    return _answer(context, found, answer, waiting)


def _answer(context: CliContext, found: Submitted, answer: SessionCommand, waiting: WaitOptions) -> int:
    """Record a person's answer to a call, and go on with the turn where that is left to this process."""
    from hermes_jobs.interfaces.cli.detach import print_current
    from hermes_jobs.interfaces.cli.turn_waiter import ALONE, follow

    application = context.application
    application.engine().execute(found.stream, answer)
    wait, timeout, options = waiting
    if not application.has_live_workers() if wait is None else wait:
        return follow(context, found, options, timeout, alone=ALONE, until_asked=wait is None)
    if options.form == "text":
        note(f"Turn {found.turn} is {application.views.turn(found.turn).status}.")
    else:
        print_current(context, found, options)
    return 0


def _find(context: CliContext, given: str) -> Submitted:
    """The turn that an id or the beginning of one means."""
    from hermes_jobs.engine.engine import Submitted

    views = context.application.views
    turn = views.turn(views.find_turn(given))
    return Submitted(turn=turn.id, stream=turn.stream)


ACTS = (follow_turn, wait_for_turn, cancel_turn, retry_turn, approve_call, deny_call)
"""The commands that `hermes-jobs turns` adds to `list` and `show`."""
