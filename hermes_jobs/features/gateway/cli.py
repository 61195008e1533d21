"""`hermes-jobs run gateway`: messages on a chat platform become turns, and answers are sent back."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_stderr
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.system.guarded_process import end_with_guard

if TYPE_CHECKING:
    from hermes_jobs.features.gateway.service import GatewayService


@group(epilog=example("hermes-jobs run gateway telegram"))
def gateway() -> None:
    """Receive messages from a chat platform."""


@gateway.command("telegram", epilog=example("hermes-jobs run gateway telegram"))
def listen_to_telegram(context: CliContext) -> None:
    """Run the Telegram gateway in the foreground. SIGTERM or Ctrl-C ends it; nothing is lost.

    The bot's token is TELEGRAM_BOT_TOKEN, in the environment or in .env; gateway.telegram.allowed_users lists
    the users who may write. If two gateways run on one log, the second is a standby. If no worker is alive,
    turns run in this process.
    """
    import asyncio

    from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
    from hermes_jobs.features.gateway.fallback_worker import FallbackWorker
    from hermes_jobs.features.telegram.api import telegram_service
    from hermes_jobs.interfaces.cli.doctor.gateway import workers_lack_token
    from hermes_jobs.kernel.live import LocalChannel

    application = context.application
    application.check()
    log_to_stderr(context)
    end_with_guard(context.environ)
    live = LocalChannel()
    with telegram_service(application, note, live) as service:
        if workers_lack_token(application):
            note(f"The workers that run have no {TOKEN}, or another one: answers do not arrive.")
            note(f"  Put it into {application.settings.paths.env_file} (mode 600); they read it again.")
        helper = FallbackWorker(application, note, on_delta=live.publish)
        helper.start()
        try:
            asyncio.run(_until_stopped(service))
        finally:
            helper.stop()


async def _until_stopped(service: GatewayService) -> None:
    import asyncio
    from contextlib import suppress

    serving = asyncio.ensure_future(service.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving
