"""A gateway at work in a thread of the test's process, with a worker beside it or alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.gateway.fallback_worker import FallbackWorker
from hermes_jobs.features.gateway.service import GatewayService
from hermes_jobs.features.telegram.api import telegram_service
from hermes_jobs.kernel.live import LocalChannel
from hermes_jobs.settings import load
from tests.gateway.bot_server import TOKEN, BotServer

ANNA = 12


def environ_of(folder: Path, bot: BotServer, model_url: str, **more: str) -> Mapping[str, str]:
    """All that the processes of a home know of the world."""
    return {
        "HOME": str(folder),
        "HERMES_JOBS_HOME": str(folder / "home"),
        "OPENAI_API_KEY": "sk-nobody-may-ever-see-this-0123456789",
        "OPENAI_BASE_URL": model_url,
        "TELEGRAM_BOT_TOKEN": TOKEN,
        "HERMES_JOBS_GATEWAY__TELEGRAM__BASE_URL": bot.base_url,
        "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": f"[{ANNA}]",
        "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "0",  # no reviews: they ask the model too
        **more,
    }


class Served:
    """A gateway's process, as far as a test looks into it."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.told: list[str] = []
        self.error: BaseException | None = None


@contextmanager
def serving(environ: Mapping[str, str], *, helped: bool = True) -> Iterator[Served]:
    """A gateway until the end of the block; `helped`: it works on turns too."""
    application = Application(load(environ), environ)
    served = Served(application)
    with ExitStack() as stack:
        stack.callback(application.close)
        live = LocalChannel()
        service = stack.enter_context(telegram_service(application, served.told.append, live))
        if helped:
            helper = FallbackWorker(application, served.told.append, on_delta=live.publish)
            helper.start()
            stack.callback(helper.stop)
        stack.enter_context(_running(service, served))
        yield served


@contextmanager
def _running(service: GatewayService, served: Served) -> Iterator[None]:
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(service.run())

    def run() -> None:
        loop.call_soon(ready.set)
        try:
            loop.run_until_complete(task)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - looked at by the test
            served.error = error
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=run, name="gateway")
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
