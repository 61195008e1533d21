"""Waiting for something of a session that is no turn: by workers elsewhere, else by this process."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.domain.session.session import Session
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.wait import LogWaiter, NoLiveWorker


def run_or_wait(
    context: CliContext,
    stream: str,
    done: Callable[[Session], bool],
    seconds: float | None = None,
) -> bool:
    """Wait until the session is so, or for `seconds`; whether it came to that.

    Where no worker is alive, the session's due steps are performed in this process meanwhile.
    """
    application = context.application
    if application.has_live_workers():
        waiter = LogWaiter(application, news=_unheard)
        try:
            return waiter.work(
                lambda: done(waiter.engine.sessions.load(stream)), stream=stream, seconds=seconds
            )
        except NoLiveWorker:
            pass
    log_to_file(context, application.settings.paths.logs)
    from hermes_jobs.runtime.inline_worker import InlineWorker

    with InlineWorker(application) as worker:
        return worker.work(lambda: done(worker.engine.sessions.load(stream)), stream=stream, seconds=seconds)


def _unheard(_news: object) -> None:
    """Nobody watches."""
