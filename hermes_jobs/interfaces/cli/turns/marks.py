"""`hermes-jobs turns rate` and `label`: ratings and labels of turns."""

from __future__ import annotations

from typing import get_args

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_label
from hermes_jobs.interfaces.cli.options import Json, TurnId, example
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.kernel.events import Rating, TurnRated
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.views.models import TurnView
from hermes_jobs.kernel.views.turn_json import turn_json


@command(
    "rate",
    epilog=example(
        "hermes-jobs turns rate last up", 'hermes-jobs turns rate t3k9 down --note "It guessed the date."'
    ),
)
@click.argument("rating", type=click.Choice(get_args(Rating)))
@click.option("--note", metavar="TEXT", type=TextParam(), default="", help="Why.")
def rate_turn(context: CliContext, turn_id: TurnId, rating: Rating, note: str, as_json: Json) -> None:
    """Rate a turn that has ended: up or down.

    The last rating counts; `none` removes it. Training exports contain ratings (`export --format`), and
    experiments can select turns by rating.
    """
    turn = context.find_turn(turn_id)
    command = c.RateTurn(TurnRated(turn=turn.id, rating=rating, by="user", note=note.strip()))
    context.application.engine().execute(turn.stream, command)
    after = context.application.views.turn(turn.id)
    text = f"rated {after.rating}" if after.rating else "not rated"
    print_result(lambda: turn_json(after), f"Turn {after.id} is {text}.", as_json=as_json)


def rating_label(turn: TurnView) -> str:
    """The user's rating of the turn, in a line; empty without one."""
    if turn.rating is None:
        return ""
    return f"{turn.rating}: {one_line(turn.rating_note)}" if turn.rating_note else turn.rating


@command(
    "label",
    epilog=example(
        "hermes-jobs turns label last invoices hard",
        "hermes-jobs turns label t3k9 --remove hard",
        "hermes-jobs turns list --label invoices",
    ),
)
@click.argument("names", metavar="[NAME]...", type=NonEmpty(), nargs=-1, shell_complete=complete_label)
@click.option(
    "--remove",
    metavar="NAME",
    type=NonEmpty(),
    multiple=True,
    shell_complete=complete_label,
    help="Remove this label.",
)
def label_turn(
    context: CliContext, turn_id: TurnId, names: tuple[str, ...], remove: tuple[str, ...], as_json: Json
) -> None:
    """Label a turn, to find it again.

    Without NAME, its labels are printed.

    `turns list --label NAME` finds labelled turns, and experiments select them with `--turns label:NAME`.
    """
    turn = context.find_turn(turn_id)
    if names or remove:
        command = c.LabelTurn(turn=turn.id, add=names, remove=remove)
        context.application.engine().execute(turn.stream, command)
    after = context.application.views.turn(turn.id)
    text = f"the labels {', '.join(after.labels)}" if after.labels else "no labels"
    print_result(lambda: turn_json(after), f"Turn {after.id} has {text}.", as_json=as_json)
