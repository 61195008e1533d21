"""Waiting for something of a session that is no turn: by workers elsewhere, else by this process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from hermes_jobs.cli.invocation import Invocation
from hermes_jobs.cli.process_log import log_to_file
from hermes_jobs.cli.waiting import LogWaiter, NobodyWorks
from hermes_jobs.domain.session import Session
from hermes_jobs.wiring.workforce import workers_are_alive


def work_until(
    invocation: Invocation,
    stream: str,
    done: Callable[[Session], bool],
    seconds: float | None = None,
) -> bool:
    """Wait until the session is so, or for `seconds`; whether it came to that.

    Where no worker is alive, the session's due steps are performed in this process meanwhile.
    """
    installation = invocation.installation
    if workers_are_alive(installation):
        waiter = LogWaiter(installation, news=_unheard)
        try:
            return waiter.work(
                lambda: done(waiter.engine.sessions.load(stream)), stream=stream, seconds=seconds
            )
        except NobodyWorks:
            pass
    log_to_file(invocation, installation.settings.paths.logs)
    with import_module("workers.inline").InlineWorker(installation) as worker:
        finished: bool = worker.work(
            lambda: done(worker.engine.sessions.load(stream)), stream=stream, seconds=seconds
        )
        return finished


def _unheard(_news: object) -> None:
    """Nobody watches."""
