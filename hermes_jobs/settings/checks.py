"""Whether a model could be called as the settings say, and whether budgets could limit it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import asdict

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.settings.choices import SETUP, Choice, missing_key
from hermes_jobs.settings.settings import Settings


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
    """Raise where no call could be made there: `Rejected`, kind `auth`, without a key, `Misconfigured`
    without an endpoint."""
    if choice.provider == "azure" and choice.base_url is None:
        raise Misconfigured(
            "Azure OpenAI has no address that fits everybody, and model.base_url is not set.",
            hint="Set it to https://RESOURCE.openai.azure.com/openai/v1 with your resource's name.",
        )
    missing = missing_key(choice, settings.secrets)
    if missing is not None:
        raise Rejected(missing, kind="auth", hint=SETUP)


def check_budgets(settings: Settings, model: str | None, is_priced: Callable[[str], bool]) -> None:
    """Raise `Misconfigured` where the budgets cannot limit a turn with that model (None: the configured one):
    they are in money alone, and its price is not known."""
    name = model or settings.model_name
    limited = [f"budgets.{key}" for key, value in asdict(settings.budgets).items() if value is not None]
    if not limited or settings.budgets.turn_tokens is not None:
        return
    if not is_priced(name):
        raise Misconfigured(
            f"{limited[0]} is set ({settings.origins[limited[0]]}), and the price of {name!r} is not "
            "known: a limit in money alone cannot be enforced.",
            hint=f"Set its price: hermes-jobs config set models.prices.{name} '{{input: 1, output: 4}}', in "
            "US dollars for a million tokens (0: free); or a limit in tokens beside it: hermes-jobs config "
            "set budgets.turn_tokens 200000",
        )
