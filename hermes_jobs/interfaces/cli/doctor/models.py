"""The checks of `hermes-jobs doctor` for models: the model in use, its key, and its abilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_jobs.errors import HermesJobsError, Misconfigured, Rejected
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, fail, ok, warn
from hermes_jobs.interfaces.cli.exit_codes import CREDENTIALS, FAILED, code_of
from hermes_jobs.interfaces.cli.model_format import endpoint_label, model_label
from hermes_jobs.interfaces.cli.moments import format_day, utc_today

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.llm.trial import Trial
    from hermes_jobs.settings import Settings

MIN_REQUESTS = 2  # the least requests before an unused cache is reported


def model(settings: Settings) -> DoctorFinding:
    """The model in use, its endpoint, its key, and its prompt caching."""
    from hermes_jobs.settings.checks import check_choice

    choice = settings.main_model
    if choice.rehearsal:
        return warn(
            "model",
            "the rehearsal model answers: a script for trying hermes-jobs out, not a language model.",
            "Connect a real one: hermes-jobs setup",
        )
    try:
        check_choice(settings, choice)
    except (Rejected, Misconfigured) as error:
        return fail("model", error.message, error.hint, code=code_of(error))
    key = f"with the key {choice.key}" if settings.secrets.get(choice.key) else "without a key"
    return ok("model", f"{choice.model} at {model_label(settings, choice.model)}; {key}")


def retirement(settings: Settings) -> Iterator[DoctorFinding]:
    """Configured models whose end their provider has announced."""
    from hermes_jobs.llm.retirements import retirement_of

    named = [settings.model.model, *settings.model.fallback, *settings.models.aliases.values()]
    named += [name for entry in settings.models.ensembles.values() for name in entry.members]
    choices = {settings.choice(name): None for name in named}
    for choice in choices:
        end = retirement_of(choice.provider, choice.model)
        if end is not None and choice.is_at_provider:
            yield warn(
                "model",
                end.sentence(choice.model, utc_today()),
                "`hermes-jobs models list` shows what there is; `hermes-jobs config set model.model NAME`.",
            )


def listed(application: Application) -> Iterator[DoctorFinding]:
    """Whether the provider lists the configured model, and whether it announces its end."""
    choice = application.settings.main_model
    listing = application.endpoints.listing(choice)
    offered = listing.find(choice.model)
    if not listing.models:
        return  # nothing is known; the test calls show more
    if offered is None:
        near = listing.nearest(choice.model)
        text = f"{choice.model} is not in the provider's list of {len(listing.models)} models"
        yield warn("live.model", text, f"The nearest: {', '.join(near)}." if near else "")
    elif offered.ends is not None:
        yield warn("live.model", f"the provider announces the end of {choice.model} for {offered.ends}")


def served(application: Application) -> DoctorFinding:
    """The window of the configured model, asked for at a server of one's own, and the tools that fit it."""
    from hermes_jobs.interfaces.cli.doctor.checks import window_source
    from hermes_jobs.llm.served_window import LARGER
    from hermes_jobs.prompt.builder import SMALL_WINDOW

    choice = application.settings.main_model
    tokens = application.endpoints.by_name.read_window(application.settings.model_name)
    window = application.endpoints.windows(choice.base_url).window(choice.model)
    text = f"{tokens:,} tokens ({window_source(window)}); new sessions have "
    if tokens >= SMALL_WINDOW:
        return ok("live.window", f"{text}the toolsets {', '.join(application.toolbox.toolsets_on(None))}")
    small = application.toolbox.small()
    on = ", ".join(application.toolbox.toolsets_on(small))
    return warn("live.window", f"{text}few tools, below {SMALL_WINDOW:,}: {on}", LARGER)


def auxiliary(settings: Settings) -> Iterator[DoctorFinding]:
    """Auxiliary tasks with another model than the main one."""
    from hermes_jobs.settings.checks import check_choice

    for purpose in ("review", "compression", "session_search", "title"):
        choice = settings.auxiliary_model(purpose)
        if choice == settings.main_model:
            continue
        key = f"the key {choice.key}" if settings.secrets.get(choice.key) else "no key"
        text = f"{purpose} asks {choice.model} at {endpoint_label(settings, choice)}, with {key}"
        try:
            check_choice(settings, choice)
        except (Rejected, Misconfigured) as error:
            yield warn("auxiliary", f"{purpose}: {error.message}", error.hint)
            continue
        yield ok("auxiliary", text)


def caching(application: Application) -> Iterator[DoctorFinding]:
    """Models whose prompts are marked for a cache that was never hit."""
    from hermes_jobs.bootstrap.api_options import caching_of

    settings = application.settings
    try:
        used = application.views.read(select_spending, by="model")
    except HermesJobsError:
        return
    for row in used:
        choice, cached = settings.choice(row.key), row.usage.cache_read_tokens + row.usage.cache_write_tokens
        if (
            choice.rehearsal
            or row.requests < MIN_REQUESTS
            or cached
            or caching_of(settings, choice).kind != "marks"
        ):
            continue
        yield warn(
            "caching",
            f"{row.key}: marks are sent, and of {row.requests} requests nothing was ever reported as cached",
            "The endpoint may ignore them, or the prompts are too short: `hermes-jobs config set "
            "model.prompt_cache off` leaves them out.",
        )


def refused(application: Application) -> Iterator[DoctorFinding]:
    """What the configured model's endpoint was seen to refuse, which is not sent to it."""
    from hermes_jobs.kernel.streams.context_windows import STREAM, LearnedWindows
    from hermes_jobs.llm.endpoint_name import endpoint_name

    choice, now = application.settings.main_model, application.clock.now()
    state = application.engine().state(STREAM)
    assert isinstance(state, LearnedWindows)
    for feature, refusal in state.refused.get((endpoint_name(choice.base_url), choice.model), {}).items():
        if refusal.counts(now):
            text = f"{choice.model} is called without {feature}: refused on {format_day(refusal.at)}"
            hint = f"It said: {refusal.message} `hermes-jobs models forget-limits` tries it again."
            yield (warn if feature == TOOLS else _noted)("refused", text, hint)


TOOLS = "tools"
"""The refused feature that matters most: calls are then read from the text."""


def _noted(check: str, message: str, hint: str) -> DoctorFinding:
    return DoctorFinding(check=check, status="ok", message=message, hint=hint)


def live(application: Application) -> Iterator[DoctorFinding]:
    """The configured model's abilities, tested with a few small calls; then their cost."""
    settings = application.settings
    if model(settings).status == "fail":
        return  # reported already
    yield from listed(application)
    yield served(application)
    trial = trial_of(application)
    for verification in trial.verdicts():
        code = CREDENTIALS if verification.kind == "auth" else FAILED
        yield DoctorFinding(
            check=f"live.{verification.name}",
            status=verification.status,
            message=verification.message,
            hint=verification.hint,
            code=code,
        )
    cost = "at a price that is not known" if trial.cost_usd is None else f"${trial.cost_usd:.6f}"
    used = (
        f"{trial.num_calls} calls, {trial.used.prompt_tokens:,} tokens in, {trial.used.output_tokens:,} out"
    )
    yield ok("live.cost", f"this check took {used}: {cost}")


def trial_of(application: Application) -> Trial:
    """A trial of the configured model."""
    from hermes_jobs.bootstrap.api_options import caching_of
    from hermes_jobs.llm.trial import Trial

    settings, models = application.settings, application.endpoints.by_name
    choice = settings.main_model
    return Trial(
        models,
        choice.model,
        prices=models,
        caching=caching_of(settings, choice),
        window=models.window_of(choice.model),
    )
