"""Writing down what was set up, and saying what comes next."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.setup.choice import ABOUT_THE_MODEL, ModelSetup


def save(context: CliContext, wanted: ModelSetup, say: Callable[[str], None]) -> None:
    """Write the key into `.env` and the rest into `config.yaml`. Raises `Misconfigured`, nothing written."""
    from hermes_jobs.settings import load, set_up

    settings = context.settings
    paths = settings.paths
    values = {"model.provider": wanted.provider.name, "model.model": wanted.model}
    if wanted.base_url is not None:
        values["model.base_url"] = wanted.base_url
    elif settings.origins["model.base_url"] == paths.config.name:
        values["model.base_url"] = "null"
    if wanted.provider.local and wanted.model not in settings.models.prices:
        values[f"models.prices.{wanted.model}"] = "0"
    secrets = {wanted.key: wanted.secret} if wanted.secret and not wanted.key_is_set else {}
    set_up(paths.home, values, secrets)
    say("")
    say(f"Written: {paths.config}" + (f" and the key to {paths.env_file} (mode 600)" if secrets else ""))
    if wanted.key_is_set and context.environ.get(wanted.key):
        say(f"{wanted.key} is in the environment alone: workers and schedules need it there too, or in .env.")
    _warn_of_others(context, say)
    now = load(context.environ).main_model
    if (now.provider, now.model) == (wanted.provider.name, wanted.model):
        say('Next: `hermes-jobs chat` to talk with it, `hermes-jobs send "…"` for one question,')
        say("`hermes-jobs up` for workers and schedules, `hermes-jobs doctor --live` to try it again.")


def _warn_of_others(context: CliContext, say: Callable[[str], None]) -> None:
    """Variables win over what was written."""
    winning = [name for name in ABOUT_THE_MODEL if context.environ.get(name, "").strip()]
    if winning:
        say(f"The environment wins over what was written; unset there: {', '.join(winning)}.")
