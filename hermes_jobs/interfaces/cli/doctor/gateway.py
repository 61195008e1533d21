"""The checks of `hermes-jobs doctor` for a Telegram bot: none without one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.workers import statuses
from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, warn
from hermes_jobs.interfaces.cli.doctor.processes import live_processes
from hermes_jobs.settings.turn_settings import available_digests

CHECK = "telegram"
LISTEN = "`hermes-jobs run gateway telegram` listens."


def telegram(application: Application) -> Iterator[DoctorFinding]:
    """Whether the bot is reachable, who may write to it, and whether a gateway runs."""
    settings = application.settings
    allowed = settings.gateway.telegram.allowed_users
    if settings.secrets.get(TOKEN) is None:
        if allowed:
            text = f"gateway.telegram.allowed_users is set, and there is no {TOKEN}"
            hint = f"Put the token that @BotFather gave you into {settings.paths.env_file} (mode 600)."
            yield warn(CHECK, text, hint)
        return
    if find_spec("telegram") is None:
        text = f"{TOKEN} is set, and this installation cannot speak to Telegram"
        yield warn(CHECK, text, "pip install 'hermes-jobs[telegram]'")
        return
    gateways = [worker.id for worker in live_processes(application) if worker.name == "gateway"]
    listens = bool(gateways)
    allowed_text = f"{len(allowed)} may write" if allowed else "nobody may write"
    hint = "" if allowed else "Set gateway.telegram.allowed_users."
    text = f"{allowed_text}; {'a gateway listens' if listens else 'nobody listens'}"
    if workers_lack_token(application):
        text += "; the workers have no token, or another one: answers do not arrive"
        hint = f"Put {TOKEN} into {settings.paths.env_file} (mode 600); running processes reread it."
        yield warn(CHECK, text, hint)
        return
    workers = statuses(application.log)
    problem = next((workers[gateway].unreachable for gateway in gateways if gateway in workers), "")
    if problem:
        text = f"{allowed_text}; a gateway asks, and nothing arrives: {problem}"
        yield warn(CHECK, text, f"It retries automatically; {settings.paths.logs / 'gateway.log'}")
        return
    yield DoctorFinding(
        check=CHECK,
        status="ok" if allowed and listens else "warn",
        message=text,
        hint=hint if listens else f"{hint} {LISTEN}".strip(),
    )


def workers_lack_token(application: Application) -> bool:
    """Whether live workers deliver answers but none of them has this process's bot token."""
    settings, log = application.settings, application.log
    delivering = {row.id for row in live_processes(application) if "deliveries" in row.queues}
    own_token = available_digests(settings, log.log_id).get(TOKEN)
    worker_tokens = [
        status.has.get(TOKEN) for worker, status in statuses(log).items() if worker in delivering
    ]
    return bool(worker_tokens) and own_token not in worker_tokens
