"""`hermes-jobs models show`: what is known of one model, or of an ensemble and each of its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from hermes_jobs.domain.usage import Usage
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.model_format import endpoint_label
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

MILLION = 1_000_000
ROLES = {"model": "", "member": "answers first", "aggregator": "answers the user"}


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model as it would be asked. `role`: `member` or `aggregator` of an ensemble, else `model`.

    `window`: tokens; `input` and `output`: US dollars a million tokens, None where the price is not known.
    `problem`: why it cannot be asked; empty where nothing is known against it.
    """

    role: str
    name: str
    model: str
    provider: str
    place: str
    window: int
    input: float | None
    output: float | None
    problem: str = ""


@click.command(
    "show", epilog=example("hermes-jobs models show", "hermes-jobs models show claude-haiku-4-5 --json")
)
@click.argument("name", type=NonEmpty(), required=False)
@limit_option("models", default=None)
@json_option
@pass_context
def show_model(context: CliContext, name: str | None, limit: int | None, as_json: bool) -> None:
    """Show where a model is asked, its window and its price.

    Of an ensemble: all of its models.

    NAME is a model, an alias or an ensemble (`models.NAME`); without it the configured model is meant. No
    provider is called.
    """
    settings = context.settings
    given = name or settings.model.model
    ensemble = settings.ensemble_name(given)
    if ensemble is None:
        rows = [_known(context.application, "model", given)]
    else:
        entry = settings.models.ensembles[ensemble]
        rows = [_known(context.application, "member", each) for each in entry.members]
        rows.append(_known(context.application, "aggregator", entry.aggregator))
    rows = rows[:limit]

    def told() -> None:
        MODELS.print_list(rows, as_json=False, empty="")
        for row in {row.name: row for row in rows if row.problem}.values():
            left_out = " It is left out until that is mended." if row.role == "member" else ""
            note(f"{row.name}: {row.problem}{left_out}")

    print_result(lambda: {"name": ensemble or rows[0].name, "models": rows}, told, as_json=as_json)


def _known(application: Application, role: str, name: str | None) -> KnownModel:
    from hermes_jobs.settings import missing_key

    settings, models = application.settings, application.endpoints.by_name
    choice = settings.choice(name)
    asked = name or choice.model
    return KnownModel(
        role=role,
        name=asked,
        model=choice.model,
        provider=choice.provider,
        place="no language model" if choice.rehearsal else endpoint_label(settings, choice),
        window=models.window_of(asked),
        input=models.cost_usd(asked, Usage(MILLION)),
        output=models.cost_usd(asked, Usage(0, MILLION)),
        problem=missing_key(choice, settings.secrets) or "",
    )


def _dollars(amount: float | None) -> str:
    return "" if amount is None else f"${amount:.4g}"


def _name(row: KnownModel) -> str:
    return row.name if row.model in row.name else f"{row.name} ({row.model})"


MODELS: Resource[KnownModel] = Resource(
    (
        Column("MODEL", _name, telling=True),
        Column("ROLE", lambda row: ROLES[row.role]),
        Column("AT", lambda row: row.place, rank=2),
        Column("WINDOW", lambda row: f"{row.window:,}", right=True),
        Column("INPUT", lambda row: _dollars(row.input), rank=1, right=True),
        Column("OUTPUT", lambda row: _dollars(row.output), rank=1, right=True),
    ),
    "No models.",
)
