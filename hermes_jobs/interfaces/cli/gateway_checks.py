"""What `hermes-jobs doctor` looks at where a Telegram bot is set up: nothing where none is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from hermes_jobs.bootstrap import Application
from hermes_jobs.delivery.telegram_token import TOKEN
from hermes_jobs.interfaces.cli.checks import Finding

CHECK = "telegram"
LISTEN = "`hermes-jobs gateway telegram` listens."


def telegram(application: Application) -> Iterator[Finding]:
    """Whether the bot can be spoken to, who may write to it, and whether anybody listens."""
    settings = application.settings
    allowed = settings.gateway.telegram.allowed_users
    if settings.secrets.get(TOKEN) is None:
        if allowed:
            told = f"gateway.telegram.allowed_users is set, and there is no {TOKEN}"
            hint = f"Put the token that @BotFather gave you into {settings.paths.env_file} (mode 600)."
            yield Finding(check=CHECK, status="warn", message=told, hint=hint)
        return
    if find_spec("telegram") is None:
        told = f"{TOKEN} is set, and this installation cannot speak to Telegram"
        yield Finding(check=CHECK, status="warn", message=told, hint="pip install 'hermes-jobs[telegram]'")
        return
    registered = application.log.workers()
    ended = application.observer().dead(registered)
    listens = any(worker.name == "gateway" and worker.id not in ended for worker in registered)
    who = f"{len(allowed)} may write" if allowed else "nobody may write"
    hint = "" if allowed else "Set gateway.telegram.allowed_users."
    told = f"{who}; {'a gateway listens' if listens else 'nobody listens'}"
    yield Finding(
        check=CHECK,
        status="ok" if allowed and listens else "warn",
        message=told,
        hint=hint if listens else f"{hint} {LISTEN}".strip(),
    )
