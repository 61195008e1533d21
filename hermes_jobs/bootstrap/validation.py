"""What would keep an installation's turns from running as configured, found before one is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hermes_jobs.agent.context.plugins import BUILT_IN
from hermes_jobs.domain.usage import Usage
from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.settings import SETUP, Choice, Settings, missing_key

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.application import Application


def validate_plugins(application: Application) -> None:
    """Raise `Misconfigured` where there is no memory provider or context engine of the configured name."""
    settings = application.settings
    if settings.memory.provider is not None:
        from hermes_jobs.agent.memory.plugins import PROVIDERS

        PROVIDERS.check_name(settings.memory.provider, settings.paths.plugins)
    if settings.context.engine != BUILT_IN:
        _ = application.contexts


def check_model(application: Application, model: str | None, done_elsewhere: Callable[[], bool]) -> None:
    """Raise what `check_choice` does for that model (null: the configured one).

    Where `done_elsewhere`, by live workers, their environment counts, not this process's.
    """
    settings = application.settings
    try:
        check_choice(settings, settings.choice(model))
    except Rejected:
        if not done_elsewhere():
            raise


def check_choice(settings: Settings, choice: Choice) -> None:
    """Raise what `check_place` does, and `Misconfigured` where the choice names no model."""
    check_place(settings, choice)
    if not choice.model:
        raise Misconfigured(
            f"No model is named, and {choice.at.title} has no usual one.",
            hint="`hermes-jobs models list` shows what it offers; `hermes-jobs config set model.model NAME` "
            "takes one.",
        )


def check_place(settings: Settings, choice: Choice) -> None:
    """Raise where nothing could be asked there: `Rejected`, kind `auth`, for want of a key, `Misconfigured`
    where no endpoint is named."""
    if choice.provider == "azure" and choice.base_url is None:
        raise Misconfigured(
            "Azure OpenAI has no address that fits everybody, and model.base_url is not set.",
            hint="Set it to https://RESOURCE.openai.azure.com/openai/v1 with your resource's name.",
        )
    missing = missing_key(choice, settings.secrets)
    if missing is not None:
        raise Rejected(missing, kind="auth", hint=SETUP)


def validate_budgets(application: Application, model: str | None) -> None:
    """Raise `Misconfigured` where a turn with that model (null: the configured one) could not be held to the
    budgets."""
    settings = application.settings
    name = model or settings.model_name
    limited = [f"budgets.{key}" for key, value in asdict(settings.budgets).items() if value is not None]
    if not limited or settings.budgets.turn_tokens is not None:
        return
    if application.endpoints.by_name.cost_usd(name, Usage(1)) is None:
        raise Misconfigured(
            f"{limited[0]} is set ({settings.origins[limited[0]]}), and the price of {name!r} is not "
            "known: a limit in money alone cannot be held.",
            hint=f"Set its price: hermes-jobs config set models.prices.{name} '{{input: 1, output: 4}}', in "
            "US dollars for a million tokens (0: free); or a limit in tokens beside it: hermes-jobs config "
            "set budgets.turn_tokens 200000",
        )
