"""What would keep an installation's turns from running as configured, found before one is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hermes_jobs.context.plugins import BUILT_IN
from hermes_jobs.domain.errors import Misconfigured
from hermes_jobs.domain.usage import Usage

if TYPE_CHECKING:
    from hermes_jobs.wiring.installation import Installation


def check_parts(installation: Installation) -> None:
    """Raise `Misconfigured` where there is no memory provider or context engine of the configured name."""
    settings = installation.settings
    if settings.memory.provider is not None:
        from hermes_jobs.memory.plugins import PROVIDERS

        PROVIDERS.check_name(settings.memory.provider, settings.paths.plugins)
    if settings.context.engine != BUILT_IN:
        _ = installation.contexts


def check_budgets(installation: Installation, model: str | None) -> None:
    """Raise `Misconfigured` where a turn with that model (null: the configured one) could not be held to the
    budgets."""
    settings = installation.settings
    name = model or settings.model_name
    limited = [f"budgets.{key}" for key, value in asdict(settings.budgets).items() if value is not None]
    if not limited or settings.budgets.turn_tokens is not None:
        return
    if installation.endpoints.prices(settings.main_model.base_url).cost_usd(name, Usage(1)) is None:
        raise Misconfigured(
            f"{limited[0]} is set ({settings.origins[limited[0]]}), and the price of {name!r} is not "
            "known: a limit in money alone cannot be held.",
            hint="Set one in tokens beside it: hermes-jobs config set budgets.turn_tokens 200000",
        )
