"""`hermes-jobs turns`: list and show turns, and commands on running ones."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, get_args

import click

from hermes_jobs.features.replay.cli.replay import replay_turn
from hermes_jobs.features.snapshots.cli.files import diff_turn, rewind_turn
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_label
from hermes_jobs.interfaces.cli.moments import format_time, log_moment
from hermes_jobs.interfaces.cli.options import (
    Json,
    example,
    limit_option,
    session_option,
    since_option,
)
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.interfaces.cli.turns.actions import ACTS
from hermes_jobs.interfaces.cli.turns.answer import answer_input
from hermes_jobs.interfaces.cli.turns.marks import label_turn, rate_turn
from hermes_jobs.interfaces.cli.turns.show import show_turn
from hermes_jobs.interfaces.cli.turns.tree import show_tree
from hermes_jobs.kernel.turns.labels import normal
from hermes_jobs.kernel.turns.stops import STOPPED
from hermes_jobs.kernel.views.models import StatusFilter, TurnStatus, TurnView
from hermes_jobs.kernel.views.turn_json import listed_turn_json
from hermes_jobs.text.figures import money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.bootstrap import Application


@group(epilog=example("hermes-jobs turns list --status failed", "hermes-jobs turns show t3k9"))
def turns() -> None:
    """List, show, follow turns; cancel, continue, retry, approve, deny, answer, rate, label, replay, rewind.

    ID may be shortened to a unique prefix. `last` is the newest turn of `list`, `last~1` the one before it.
    """


FILE_COMMANDS = (diff_turn, rewind_turn)
for act in (show_turn, show_tree, *ACTS, answer_input, *FILE_COMMANDS, rate_turn, label_turn, replay_turn):
    turns.add_command(act)


@turns.command("list", epilog=example("hermes-jobs turns list -n 5 --status running"))
@session_option("Only turns of this session.")
@click.option(
    "--status", type=click.Choice((*get_args(TurnStatus), STOPPED)), help="Only turns with this status."
)
@click.option(
    "--label",
    metavar="NAME",
    type=NonEmpty(),
    shell_complete=complete_label,
    help="Only turns with this label.",
)
@since_option("Only turns sent since then: `yesterday`, 2026-11-01.")
@click.option(
    "--all", "everything", is_flag=True, help="Include turns of reviews, sub-agents and deleted sessions."
)
@limit_option("turns, newest first")
def list_turns(  # noqa: PLR0913 - its options
    context: CliContext,
    *,
    session: str | None,
    status: StatusFilter | None,
    label: str | None,
    since: datetime | None,
    everything: bool,
    limit: int,
    as_json: Json,
) -> None:
    """List turns, newest first."""
    views = context.application.views
    chosen = views.find_session(session) if session else None
    normalized = normal(label) if label is not None else None
    chosen_turns = views.turns(
        session=chosen,
        status=status,
        label=normalized,
        since=log_moment(since),
        hidden=everything,
        limit=limit,
    )
    TURNS.print_list(chosen_turns, as_json=as_json)
    if not as_json:
        _note_abandoned(context.application, chosen_turns)


def _note_abandoned(application: Application, turns: Sequence[TurnView]) -> None:
    """Print which running turns no process works on, and how they continue."""
    running = [turn.id for turn in turns if turn.status in {"queued", "running"}]
    if not running:
        return
    from hermes_jobs.interfaces.cli.doctor.processes import runs_turns

    if not runs_turns(application):
        note(f"Nobody works on {', '.join(running)}: no worker is alive. To continue: hermes-jobs up,")
        note(f"  or here: hermes-jobs turns wait {running[0]}")


def _status(turn: TurnView) -> str:
    until = "" if turn.waits_until is None else f" until {format_time(turn.waits_until)}"
    return f"{turn.status_word}{until}"


def _about(turn: TurnView) -> str:
    """Its labels, what went wrong, and its text; for a sub-agent also the root turn of its tree."""
    error = [f"{turn.error.message} —"] if turn.error is not None and turn.status == "failed" else []
    text = " ".join([*(f"#{label}" for label in turn.labels), *error, turn.text])
    return text if turn.place is None else f"{turn.place.root_turn} › {text}"


TURNS: Resource[TurnView] = Resource(
    (
        Column("TURN", lambda turn: turn.id),
        Column("SESSION", lambda turn: turn.session, rank=3),
        Column("STATUS", _status),
        Column("RATED", lambda turn: turn.rating or "", rank=1),
        moment_column("WHEN", lambda turn: turn.submitted_at),
        Column(
            "COST", lambda turn: money(turn.totals.cost_usd, turn.totals.known_cost_usd), rank=2, right=True
        ),
        Column("TEXT", _about, is_main=True),
    ),
    "No turns.",
    listed_turn_json,
    by_day=True,
)
