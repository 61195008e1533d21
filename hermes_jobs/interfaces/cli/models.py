"""`hermes-jobs models`: the models of an endpoint, and data on models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.interfaces.cli.command import command, group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.model_format import endpoint_label
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.llm.price import FREE, Price

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.ports import Pricing
    from hermes_jobs.kernel.streams.context_windows import LearnedWindows
    from hermes_jobs.llm.catalogue import Listing, Offered
    from hermes_jobs.settings import Choice, Settings


MILLION = 1_000_000


class OfferedModel(msgspec.Struct, frozen=True, kw_only=True):
    """An available model. `window`: tokens; `price`: US dollars per million tokens; None: unknown."""

    name: str
    window: int | None
    price: Price | None
    aliases: tuple[str, ...] = ()
    configured: bool = False


@command("list", epilog=example("hermes-jobs models list", "hermes-jobs models list qwen --json"))
@click.argument("part", type=TextParam(), required=False)
@limit_option("models", default=None)
def list_models(context: CliContext, part: str | None, limit: int | None, as_json: Json) -> None:
    """List the endpoint's models, with window and price.

    With PART, only models whose name contains it. Your aliases are listed beside, your ensembles below.
    Prices are US dollars per million tokens, from `models.prices`, the endpoint, or a maintained list, in
    this order. `*` marks the configured model.
    """
    application = context.application
    settings, choice = application.settings, application.settings.main_model
    listing = offered(application, choice)
    matching = [model for model in listing.models if not part or part.lower() in model.name.lower()]
    rows = [_row(application, choice, model) for model in matching[:limit]]

    def print_text() -> None:
        where = endpoint_label(settings, choice)
        MODELS.print_list(
            rows, as_json=False, empty=f"{where} offers no model like {part!r}." if part else ""
        )
        _note_aliases(settings, rows)

    endpoint = choice.base_url or choice.at.base_url
    place = {"provider": choice.provider, "endpoint": endpoint}
    named_here = {"aliases": settings.models.aliases, "ensembles": settings.models.ensembles}
    print_result(lambda: {**place, "models": rows, **named_here}, print_text, as_json=as_json)


def offered(application: Application, choice: Choice) -> Listing:
    """The models of the choice's endpoint. Raises `Misconfigured` and `Rejected` with the problem."""
    from hermes_jobs.settings import SETUP
    from hermes_jobs.settings.checks import check_place

    if choice.rehearsal:
        raise Misconfigured("No model is configured.", hint="Connect one: hermes-jobs setup")
    check_place(application.settings, choice)
    listing = application.endpoints.listing(choice)
    if listing.trouble is not None:
        kind = "auth" if listing.trouble == "auth" else "models"
        raise Rejected(listing.problem, kind=kind, hint=listing.hint or SETUP)
    return listing


def _row(application: Application, choice: Choice, offered: Offered) -> OfferedModel:
    from hermes_jobs.llm.dialect import OPENAI_URL
    from hermes_jobs.llm.windows import known_window

    settings = application.settings
    own = settings.models.prices.get(offered.name)
    price = (FREE if own == 0 else own) or offered.price
    return OfferedModel(
        name=offered.name,
        window=offered.window or known_window(offered.name, choice.base_url or OPENAI_URL),
        price=price or _listed(application.endpoints.prices(choice.base_url), offered),
        aliases=tuple(alias for alias, name in settings.models.aliases.items() if name == offered.name),
        configured=offered.name == choice.model,
    )


def _listed(prices: Pricing, offered: Offered) -> Price | None:
    """The list prices of a million tokens of each kind."""
    kinds = (Usage(MILLION), Usage(0, MILLION), Usage(0, 0, MILLION), Usage(0, 0, 0, MILLION))
    paid, output, cache_read, cache_write = (prices.cost_usd(offered.name, usage) for usage in kinds)
    return None if paid is None or output is None else Price(paid, output, cache_read, cache_write)


def _price(amount: Callable[[Price], float | None]) -> Callable[[OfferedModel], str]:
    def cell(row: OfferedModel) -> str:
        dollars = None if row.price is None else amount(row.price)
        return "" if dollars is None else f"${dollars:.4g}"

    return cell


MODELS: Resource[OfferedModel] = Resource(
    (
        Column("MODEL", lambda row: f"{row.name} *" if row.configured else row.name, is_main=True),
        Column("WINDOW", lambda row: f"{row.window:,}" if row.window else "", right=True),
        Column("INPUT", _price(lambda price: price.input), rank=1, right=True),
        Column("OUTPUT", _price(lambda price: price.output), rank=2, right=True),
        Column("CACHED", _price(lambda price: price.cache_read), rank=3, right=True),
        Column("ALIASES", lambda row: ", ".join(row.aliases)),
    ),
    "It offers no model.",
)


def _note_aliases(settings: Settings, rows: Sequence[OfferedModel]) -> None:
    """Aliases of models that are not in the table, and ensembles."""
    listed = {alias for row in rows for alias in row.aliases}
    for alias, name in settings.models.aliases.items():
        if alias not in listed:
            note(f"{alias} stands for {name}.")
    for name, entry in settings.models.ensembles.items():
        note(f"{name} asks {', '.join(entry.members)}; {entry.aggregator} answers.")


@group(epilog=example("hermes-jobs models list"), invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List models and what is known about them."""
    if context.invoked_subcommand is None:
        context.invoke(list_models, part=None, limit=None, as_json=False)


models.add_command(list_models)


@models.command(
    "forget-limits",
    epilog=example("hermes-jobs models forget-limits", "hermes-jobs models forget-limits qwen3"),
)
@click.argument("name", type=NonEmpty(), required=False)
def forget_limits(context: CliContext, name: str | None, as_json: Json) -> None:
    """Forget limits learned from provider errors.

    They are context windows, and parameters that are refused. NAME is one model, at any endpoint; without
    it, all are forgotten. The next error of the provider is learned again. `model.context_length` sets a
    window that errors do not change. `doctor` shows where the window in use comes from, and what the
    endpoint refuses.
    """
    from hermes_jobs.kernel.streams import context_windows
    from hermes_jobs.kernel.streams.context_windows import LearnedWindows

    engine = context.application.engine()
    state = engine.state(context_windows.STREAM)
    assert isinstance(state, LearnedWindows)
    known = [_learned(state, place) for place in {**state.windows, **state.refused}]
    forgotten = [limits for limits in known if name in {None, limits.model}]
    engine.change(context_windows.forget(name), "cli")

    def print_text() -> None:
        for limits in forgotten:
            note(f"Forgotten: {limits.model} at {limits.endpoint} {limits.description}.")
        if not forgotten:
            which = f"the model {name}" if name else "any model"
            others = ", ".join(sorted({limits.model for limits in known}))
            note(f"No limit was learned of {which}." + (f" There are limits of: {others}." if others else ""))

    print_result(lambda: {"forgotten": forgotten}, print_text, as_json=as_json)


class LearnedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned of a model. `window`: tokens, None if no window was; `refused`: what the endpoint
    refuses of requests.
    """

    endpoint: str
    model: str
    window: int | None
    refused: tuple[str, ...]

    @property
    def description(self) -> str:
        """What the model does not take, as the end of a sentence."""
        window = [f"takes {self.window:,} tokens"] if self.window else []
        return " and ".join([*window, *([f"refuses {', '.join(self.refused)}"] if self.refused else [])])


def _learned(state: LearnedWindows, place: tuple[str, str]) -> LearnedLimits:
    window, refused = state.windows.get(place), tuple(state.refused.get(place, ()))
    return LearnedLimits(
        endpoint=place[0], model=place[1], window=window.window if window else None, refused=refused
    )


ROLES = {"model": "", "member": "answers first", "aggregator": "answers the user"}


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its settings. `role`: `member` or `aggregator` of an ensemble, else `model`.

    `window`: tokens; `input` and `output`: US dollars a million tokens, None where the price is not known.
    `problem`: why it cannot be called; empty if none is known.
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


@models.command(
    "show", epilog=example("hermes-jobs models show", "hermes-jobs models show claude-haiku-4-5 --json")
)
@click.argument("name", type=NonEmpty(), required=False)
@limit_option("models", default=None)
def show_model(context: CliContext, name: str | None, limit: int | None, as_json: Json) -> None:
    """Show a model's endpoint, window and price.

    For an ensemble, those of all its models.

    NAME is a model, an alias or an ensemble (`models.NAME`). Default: the configured model. No provider is
    called.
    """
    settings = context.settings
    model_name = name or settings.model.model
    ensemble = settings.ensemble_name(model_name)
    if ensemble is None:
        rows = [_known(context.application, "model", model_name)]
    else:
        entry = settings.models.ensembles[ensemble]
        rows = [_known(context.application, "member", member) for member in entry.members]
        rows.append(_known(context.application, "aggregator", entry.aggregator))
    rows = rows[:limit]

    def print_text() -> None:
        KNOWN_MODELS.print_list(rows, as_json=False, empty="")
        for row in {row.name: row for row in rows if row.problem}.values():
            left_out = " It is left out until this is corrected." if row.role == "member" else ""
            note(f"{row.name}: {row.problem}{left_out}")

    print_result(lambda: {"name": ensemble or rows[0].name, "models": rows}, print_text, as_json=as_json)


def _known(application: Application, role: str, name: str | None) -> KnownModel:
    from hermes_jobs.settings import missing_key

    settings, models = application.settings, application.endpoints.by_name
    choice = settings.choice(name)
    name_in_use = name or choice.model
    return KnownModel(
        role=role,
        name=name_in_use,
        model=choice.model,
        provider=choice.provider,
        place="no language model" if choice.rehearsal else endpoint_label(settings, choice),
        window=models.window_of(name_in_use),
        input=models.cost_usd(name_in_use, Usage(MILLION)),
        output=models.cost_usd(name_in_use, Usage(0, MILLION)),
        problem=missing_key(choice, settings.secrets) or "",
    )


def _dollars(amount: float | None) -> str:
    return "" if amount is None else f"${amount:.4g}"


def _name(row: KnownModel) -> str:
    return row.name if row.model in row.name else f"{row.name} ({row.model})"


KNOWN_MODELS: Resource[KnownModel] = Resource(
    (
        Column("MODEL", _name, is_main=True),
        Column("ROLE", lambda row: ROLES[row.role]),
        Column("AT", lambda row: row.place, rank=2),
        Column("WINDOW", lambda row: f"{row.window:,}", right=True),
        Column("INPUT", lambda row: _dollars(row.input), rank=1, right=True),
        Column("OUTPUT", lambda row: _dollars(row.output), rank=1, right=True),
    ),
    "No models.",
)
