"""Waits for work in the log: done by live workers, else by this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.workers import cover_required_queues
from hermes_jobs.domain.session.session import Session
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_file

POLL_SECONDS = 1.0  # seconds between checks of live workers


class NoLiveWorker(Exception):
    """No live worker consumes the queues of a turn."""


class LogWaiter:
    """Waits for live workers with the turn's requirements. `news` gets every event appended since its
    creation, and empty batches."""

    def __init__(
        self,
        application: Application,
        *,
        news: Callable[[Sequence[RecordedEvent]], None],
        requires: Mapping[str, str] | None = None,
    ) -> None:
        self._requires = requires or {}
        self.engine = application.engine()
        self._observer = application.workers.failure_detector()
        self._news = news
        self._position = application.log.last_position()

    def __enter__(self) -> LogWaiter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to release."""

    def work(
        self, is_done: Callable[[], bool], *, stream: str | None = None, seconds: float | None = None
    ) -> bool:
        """Wait until `is_done`, or for `seconds`; returns whether it was done. Raises `NoLiveWorker`."""
        clock, log = self.engine.clock, self.engine.log
        until = None if seconds is None else clock.monotonic() + seconds
        looked_at = float("-inf")
        while True:
            last = log.last_position()
            batch = log.tail(self._position, stream=stream)
            # Other streams' events are skipped.
            self._position = batch[-1].position if batch else max(self._position, last)
            self._news(batch)
            if is_done():
                return True
            now = clock.monotonic()
            if until is not None and now >= until:
                return False
            if now - looked_at >= POLL_SECONDS:
                looked_at = now
                self._require_workers()
            log.wait(self._position, POLL_SECONDS if until is None else min(POLL_SECONDS, until - now))

    def remaining_steps(self) -> int:
        """Zero: due steps are left to the workers."""
        return 0

    def drain(self) -> None:
        """See `remaining_steps`."""

    def _require_workers(self) -> None:
        log, workers = self.engine.log, self.engine.log.workers()
        if not cover_required_queues(log, workers, self._observer.dead(workers), self._requires):
            raise NoLiveWorker


def run_or_wait(
    context: CliContext,
    stream: str,
    is_done: Callable[[Session], bool],
    seconds: float | None,
) -> bool:
    """Wait until the session is so, or for `seconds`; whether it came to that.

    Where no worker is alive, the session's due steps are performed in this process meanwhile.
    """
    application = context.application
    if application.workers.are_live():
        waiter = LogWaiter(application, news=_ignore_events)
        try:
            return waiter.work(
                lambda: is_done(waiter.engine.sessions.load(stream)), stream=stream, seconds=seconds
            )
        except NoLiveWorker:
            pass
    log_to_file(context, application.settings.paths.logs)
    from hermes_jobs.runtime.inline_worker import InlineWorker

    with InlineWorker(application) as worker:
        return worker.work(
            lambda: is_done(worker.engine.sessions.load(stream)), stream=stream, seconds=seconds
        )


def _ignore_events(_news: object) -> None:
    """Ignore new events."""
