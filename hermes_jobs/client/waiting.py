"""Waits for work in the log: done by live workers, else by this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from hermes_jobs.bootstrap.workers import cover_required_queues
from hermes_jobs.kernel.live import OnDelta
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.kernel.turns.waiting import last_turn, waits_for_person

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.turns.submitted import Submitted

POLL_SECONDS = 1.0  # seconds between checks of live workers
MAX_INLINE_WAIT = 120.0  # seconds that a process without workers waits for a quota or a server

OnEvents = Callable[[Sequence["RecordedEvent"]], None]
"""Is called with new events of a stream, in order; also with empty batches."""


class NoLiveWorker(Exception):
    """No live worker consumes the queues of a turn."""


def ignore_events(_events: object) -> None:
    """The `OnEvents` without interest."""


class LogWaiter:
    """Waits for live workers with the turn's requirements. `news` gets every event appended since its
    creation, and empty batches."""

    def __init__(
        self, application: Application, *, news: OnEvents, requires: Mapping[str, str] | None = None
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
            self._read(stream)
            if is_done():
                self._read(stream)  # what was appended between the two
                return True
            now = clock.monotonic()
            if until is not None and now >= until:
                return False
            if now - looked_at >= POLL_SECONDS:
                looked_at = now
                self._require_workers()
            log.wait(self._position, POLL_SECONDS if until is None else min(POLL_SECONDS, until - now))

    def _read(self, stream: str | None) -> None:
        last = self.engine.log.last_position()
        batch = self.engine.log.tail(self._position, stream=stream)
        # Other streams' events are skipped.
        self._position = batch[-1].position if batch else max(self._position, last)
        self._news(batch)

    def session(self, stream: str) -> Session:
        """The session, as the log has it. Raises `LogUnavailable`."""
        return self.engine.sessions.load(stream)

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
    application: Application,
    stream: str,
    is_done: Callable[[Session], bool],
    seconds: float | None,
    *,
    begins_here: Callable[[], None] = lambda: None,
) -> bool:
    """Wait until the session is so, or for `seconds`; whether it came to that.

    Where no worker is alive, the session's due steps are performed in this process meanwhile, after a call of
    `begins_here`.
    """
    if application.workers.are_live():
        waiter = LogWaiter(application, news=ignore_events)
        try:
            return waiter.work(
                lambda: is_done(waiter.engine.sessions.load(stream)), stream=stream, seconds=seconds
            )
        except NoLiveWorker:
            pass
    begins_here()
    from hermes_jobs.runtime.inline_worker import InlineWorker

    with InlineWorker(application) as worker:
        return worker.work(lambda: is_done(worker.session(stream)), stream=stream, seconds=seconds)


class TurnWait:
    """The wait of a program for one turn: until it ends, needs a person, or waits for long with no worker
    alive.

    `on_events` and `on_delta` are called from other threads. `runs_here` is true once this process has run
    steps of it.
    """

    def __init__(
        self,
        application: Application,
        submitted: Submitted,
        *,
        on_events: OnEvents = ignore_events,
        on_delta: OnDelta | None = None,
        is_given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self._application = application
        self._submitted = submitted
        self._on_events = on_events
        self._on_delta = on_delta
        self._is_given_up = is_given_up
        self._session: Callable[[str], Session] = application.engine().sessions.load
        self.runs_here = False

    def wait(self, seconds: float | None) -> bool:
        """Wait; returns whether it came to one of those ends within `seconds`. Raises `LogUnavailable`."""
        application, clock = self._application, self._application.clock
        until = None if seconds is None else clock.monotonic() + seconds
        if application.workers.are_live(self._requires()):
            try:
                return self._wait_for_workers(seconds)
            except NoLiveWorker:
                seconds = None if until is None else max(0.0, until - clock.monotonic())
        self.runs_here = True
        from hermes_jobs.kernel.live import ignore_delta
        from hermes_jobs.runtime.inline_worker import InlineWorker

        on_delta = self._on_delta or ignore_delta
        with InlineWorker(application, on_delta=on_delta, news=self._on_events) as worker:
            self._session = worker.session
            return worker.work(self._is_over, stream=self._submitted.stream, seconds=seconds)

    def _wait_for_workers(self, seconds: float | None) -> bool:
        waiter = LogWaiter(self._application, news=self._on_events, requires=self._requires())
        stream = self._submitted.stream
        if self._on_delta is None:
            return waiter.work(self._is_over, stream=stream, seconds=seconds)
        from hermes_jobs.runtime.redis_live import channel_of

        channel = channel_of(self._application)
        try:
            channel.subscribe(self._submitted.turn, self._on_delta)
            return waiter.work(self._is_over, stream=stream, seconds=seconds)
        finally:
            channel.close()

    def _requires(self) -> Mapping[str, str]:
        turn = self._turn()[1]
        return turn.requires if turn is not None else {}

    def _turn(self) -> tuple[Session, Turn | None]:
        """The session, and the turn that ends this one while it is open."""
        session = self._session(self._submitted.stream)
        return session, session.find(last_turn(session, self._submitted.turn))

    def _is_over(self) -> bool:
        session, turn = self._turn()
        if turn is None or self._is_given_up():
            return True
        if turn is not session.current:
            return False
        remaining = turn.waits_until - self._application.clock.now()
        if self.runs_here and not turn.running and remaining > MAX_INLINE_WAIT:
            return True
        return waits_for_person(self._session, session, turn, self._application.clock.now())
