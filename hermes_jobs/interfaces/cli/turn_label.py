"""`hermes-jobs turns label`: words by which a person finds turns again."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, turn_argument
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result


@click.command(
    "label",
    epilog=example(
        "hermes-jobs turns label last invoices hard",
        "hermes-jobs turns label t3k9 --remove hard",
        "hermes-jobs turns list --label invoices",
    ),
)
@turn_argument
@click.argument("names", metavar="[NAME]...", type=NonEmpty(), nargs=-1)
@click.option("--remove", metavar="NAME", type=NonEmpty(), multiple=True, help="Take that label away.")
@json_option
@pass_context
def label_turn(
    context: CliContext, turn_id: str, names: tuple[str, ...], remove: tuple[str, ...], as_json: bool
) -> None:
    """Give labels to a turn, to find it again.

    Without NAME those that it has are told.

    Experiments choose turns by them (`--turns label:NAME`), and `turns list --label NAME` lists them.
    """
    from hermes_jobs.domain.session import commands as c
    from hermes_jobs.views.turn_json import turn_json

    views = context.application.views
    found = views.turn(views.find_turn(turn_id))
    if names or remove:
        command = c.LabelTurn(turn=found.id, add=names, remove=remove)
        context.application.engine().execute(found.stream, command)
    after = views.turn(found.id)
    told = (
        f"Turn {after.id} has the labels {', '.join(after.labels)}."
        if after.labels
        else (f"Turn {after.id} has no labels.")
    )
    print_result(lambda: turn_json(after), told, as_json=as_json)
