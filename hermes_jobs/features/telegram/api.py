"""Creates the gateway from the settings. Invalid settings are refused before any request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.conflicts import conflicts
from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
from hermes_jobs.features.gateway.files import FileReceiver
from hermes_jobs.features.gateway.leader import GatewayLeader
from hermes_jobs.features.gateway.receiver import MessageReceiver
from hermes_jobs.features.gateway.rules.commands import GatewayPolicy
from hermes_jobs.features.gateway.service import GatewayService, PlatformReach
from hermes_jobs.kernel.feature import parts
from hermes_jobs.kernel.live import LiveChannel
from hermes_jobs.runtime.redis_live import channel_of
from hermes_jobs.settings import Settings
from hermes_jobs.settings.sections.processes import Telegram

_USER = re.compile(r"[a-z]+:\S+")


def has_telegram(settings: Settings) -> bool:
    """Whether there is a bot's token, an allowed user, and the required library."""
    has_users = bool(settings.gateway.telegram.allowed_users)
    return has_users and settings.secrets.get(TOKEN) is not None and find_spec("telegram") is not None


@contextmanager
def telegram_service(
    application: Application, notify: Callable[[str], None], live: LiveChannel
) -> Iterator[GatewayService]:
    """The gateway of the bot whose token is set; `live` carries what this process's own worker writes.

    Raises `Misconfigured`, `Rejected`, `LogUnavailable`.
    """
    try:
        from hermes_jobs.features.telegram.asking import QuestionDesk
        from hermes_jobs.features.telegram.bot import bot_id_of
        from hermes_jobs.features.telegram.drafts import AnswerDrafts
        from hermes_jobs.features.telegram.platform import PLATFORM, TelegramPlatform
    except ModuleNotFoundError as error:
        raise Misconfigured(
            "This installation cannot speak to Telegram.", hint="pip install 'hermes-jobs[telegram]'"
        ) from error
    settings, own = application.settings, application.settings.gateway.telegram
    token = settings.secrets.get(TOKEN)
    bot = bot_id_of(token) if token else None
    if token is None or bot is None:
        raise _no_bot(token)
    _check_people(own, notify)
    channels = (live, channel_of(application))
    drafts = AnswerDrafts(channels, settings.secrets.redact)
    hears = settings.auxiliary.transcription.model is not None
    platform = TelegramPlatform(token, bot, own.base_url, drafts, hears=hears)
    engine = application.engine()
    approvers = [f"{PLATFORM}:{user}" for user in own.approvers]
    desk = QuestionDesk(application, approvers, drafts, pushes=own.push_questions)
    reception = MessageReceiver(
        engine,
        _policy(settings),
        [f"{PLATFORM}:{user}" for user in own.allowed_users],
        lambda session: _news(application, session),
        desk.press,
        desk.take,
        FileReceiver(lambda: application.intake),
    )
    reach = PlatformReach()
    post = GatewayLeader(
        engine,
        platform.name,
        lambda: application.workers.lease("gateway", unreachable=lambda: reach.problem),
        application.workers.failure_detector(),
    )
    try:
        yield GatewayService(platform, reception, post, notify, reach, desk.look, desk.busy)
    finally:
        post.close()
        for channel in channels:
            channel.close()


def _check_people(settings: Telegram, notify: Callable[[str], None]) -> None:
    """Notify where nobody may write to the bot. Raises `Misconfigured` for an approver who may not."""
    if not settings.allowed_users:
        notify("Nobody may write yet: gateway.telegram.allowed_users is empty.")
        notify("  Write to the bot; the number that is ignored below is yours.")
    if unknown := set(settings.approvers) - set(settings.allowed_users):
        raise Misconfigured(
            f"gateway.telegram.approvers: {', '.join(map(str, sorted(unknown)))} may not write to the bot.",
            hint="Add each to gateway.telegram.allowed_users, too.",
        )


def _policy(settings: Settings) -> GatewayPolicy:
    return GatewayPolicy(
        users=validate_users(settings.gateway.users),
        if_busy=settings.session.if_busy,
        titles=settings.names_sessions,
        workdir=settings.agent.workdir,
    )


def _no_bot(token: str | None) -> Rejected:
    return Rejected(
        f"{TOKEN} is not a token of a bot." if token else f"There is no {TOKEN}.",
        kind="auth",
        hint=f"Put the token that @BotFather gave you into .env in the home (mode 600), as {TOKEN}=…",
    )


def _news(application: Application, session: str) -> Sequence[str]:
    """The conflicts since the session's newest turn was submitted, and what waits for a person since then."""
    application.sync_files()
    turns = application.views.turns(session=session, limit=1)
    if not turns:
        return ()
    since = turns[0].submitted_at
    waits = filter(None, (waiting(application, since) for waiting in parts("waiting")))
    return (*conflicts(application.memory, application.skills, application.log, since), *waits)


def validate_users(users: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Check that each id in `gateway.users` belongs to one user. Raises `Misconfigured`."""
    owners: dict[str, str] = {}
    for person, ids in users.items():
        for user in ids:
            if not _USER.fullmatch(user):
                raise Misconfigured(
                    f"gateway.users.{person}: {user!r} is not an id on a platform.",
                    hint="Write the platform before it, such as 'telegram:123456'.",
                )
            if owners.setdefault(user, person) != person:
                raise Misconfigured(
                    f"gateway.users: {user} is listed under {owners[user]!r} and under {person!r}.",
                    hint="An id belongs to one person.",
                )
    return users
