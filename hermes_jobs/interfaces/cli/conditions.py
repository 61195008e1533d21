"""Conditions on the command line: the option, and what a person approves with it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import NonEmpty

if TYPE_CHECKING:
    from hermes_jobs.features.conditions.events import Condition
    from hermes_jobs.kernel.events import CallPattern, TurnSubmitted
    from hermes_jobs.kernel.turns.submitted import Submitted

F = TypeVar("F", bound=Callable[..., Any])


def condition_option(flag: str, text: str, name: str) -> Callable[[F], F]:
    """`FLAG COMMAND`; the command gets it as `name`."""
    return click.option(flag, name, metavar="COMMAND", type=NonEmpty(), help=text)


def new_condition(
    context: CliContext,
    command: str,
    folder: str | None,
    flag: str,
    approve: Sequence[CallPattern] = (),
) -> Condition:
    """The condition, with the question that a person who adds it answers, unless they `approve` it.

    Raises a usage error for a command that never runs, or without a folder.
    """
    from hermes_jobs.features.conditions.events import Condition
    from hermes_jobs.tools.tool import ToolRefused

    if not folder:
        raise click.BadParameter(
            "a condition runs in the folder of the turns, and there is none. Name one with --workdir.",
            param_hint=flag,
        )
    try:
        asked = context.application.condition_command.question(command, folder, approve)
    except ToolRefused as refused:
        raise click.BadParameter(f"{command!r} is never run: {refused}.", param_hint=flag) from refused
    return Condition(command=command, folder=folder, asked=asked)


def submitted_if(
    context: CliContext, turn: TurnSubmitted, condition: Condition, *, as_json: bool
) -> Submitted | None:
    """Submit the turn if its condition allows it; None, with a note, if it is skipped.

    A person at the terminal is asked for the approval that it needs. Raises `Rejected` where it failed.
    """
    from hermes_jobs.client.conditions import check
    from hermes_jobs.errors import Rejected
    from hermes_jobs.kernel.turns.session import stream_of
    from hermes_jobs.kernel.turns.submitted import Submitted

    if condition.asked and not _is_approved(condition):
        raise Rejected(
            f"The condition needs your approval ({condition.asked}). Nothing was sent.",
            kind="condition",
            hint=f"Approve it beforehand: --approve {shlex.quote(condition.command)}",
        )
    ended = check(context.application, turn, condition)
    if ended.ruling == "run":
        return Submitted(turn=turn.turn, stream=stream_of(turn.session))
    if ended.ruling == "failed":
        raise Rejected(
            f"The condition failed, so nothing was sent: {ended.message}",
            kind="condition",
            hint="Exit code 0 means run, 1 means skip; any other one is a failure.",
        )
    if as_json:
        print_json({"status": "skipped", "turn": None, "message": ended.message})
    else:
        note(f"Skipped: the condition said no{': ' if ended.message else '.'}{ended.message}")
    return None


def _is_approved(condition: Condition) -> bool:
    if not sys.stdin.isatty():
        return False
    note(f"The condition `{condition.command}` needs your approval: {condition.asked}.")
    return click.confirm("Run it?", default=False, err=True)
