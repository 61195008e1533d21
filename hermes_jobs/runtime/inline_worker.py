"""Inline worker: runs the engine's steps on a few threads of the calling process, without Celery or broker.

`hermes-jobs send` uses it if no other worker is alive. It finds due steps as every worker does: those of its
own appends at once, the others by polling the log.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.events import StepAbandoned
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.live import OnDelta, ignore_delta
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.runtime.recovery import LogFollower, reclaim_from_dead_workers
from hermes_jobs.runtime.worker_lease import WorkerLease

logger = logging.getLogger(__name__)

THREADS = 16
POLL_SECONDS = 0.5  # seconds between polls of the log without notifications
BREATH = 0.02  # seconds from news to the poll, unless no step runs before: steps follow each other quickly
OBSERVE_EVERY = 1.0  # seconds between checks of the other workers
RETRY_ELSEWHERE = 2.0  # seconds until a step that was left to another process is looked at again


class InlineWorker:
    """Runs due steps of one stream (or all) in this process while `work` is called.

    `on_delta` is called with text deltas of answers, `news` with every event appended after the worker was
    entered.
    """

    def __init__(
        self,
        application: Application,
        *,
        on_delta: OnDelta = ignore_delta,
        news: Callable[[Sequence[RecordedEvent]], None] = lambda events: None,
    ) -> None:
        self._news = news
        self._observer = application.workers.failure_detector()
        self._stop_seconds = application.settings.workers.stop_seconds
        self.engine = application.engine(dispatcher=self, on_delta=on_delta)
        self._lease = WorkerLease(self.engine, lambda: application.workers.lease("inline"))
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="step")
        self._stream: str | None = None
        self._streams: frozenset[str] = frozenset()
        self._open = False
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._rests = threading.Event()  # no step runs
        self._rests.set()
        self._elsewhere: dict[str, float] = {}  # until when a step is left to the process that can run it
        self._error: Exception | None = None
        self._observed_at = float("-inf")
        self._look_at = float("-inf")  # when the log is searched for due steps next
        self._seen: dict[str, int] = {}  # the newest version of the streams that `session` was asked for

    def __enter__(self) -> InlineWorker:
        self._follower = LogFollower(self.engine)
        self._lease.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Claim no more steps, interrupt running ones so that they are due again, and release the lease."""
        self._open = False
        running = self.engine.in_flight
        running.stop("shutdown", lambda act: not act.is_write)
        patience = threading.Timer(self._stop_seconds, running.stop, ("shutdown",))
        patience.start()
        try:
            self._pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            running.stop("shutdown")
            self._pool.shutdown(wait=True)
        finally:
            patience.cancel()
            patience.join()
            self._lease.close()

    def dispatch(self, steps: Sequence[Step]) -> None:
        """The `Dispatcher`: steps that this process's appends make due go directly to its threads."""
        for step in steps:
            self._launch(step)

    def work(
        self, done: Callable[[], bool], *, stream: str | None = None, seconds: float | None = None
    ) -> bool:
        """Run due steps until `done`, or for `seconds`; returns whether `done` was met.

        Raises the error that keeps this process from working, such as `LogUnavailable`.
        """
        clock = self.engine.clock
        until = None if seconds is None else clock.monotonic() + seconds
        self._stream, self._open, self._look_at = stream, True, float("-inf")
        try:
            while True:
                self._poll()
                if done():
                    self._take(self._follower.poll(to_end=True))  # what was appended between the two
                    return True
                remaining = POLL_SECONDS if until is None else min(POLL_SECONDS, until - clock.monotonic())
                if remaining <= 0:
                    return False
                pause = self._pause(remaining)
                self._look_at = min(self._look_at, clock.monotonic() + pause)
                if self.engine.log.wait(self._follower.position, pause):
                    self._rests.wait(BREATH)
                else:
                    self._look_at = float("-inf")
        finally:
            self._open = False

    def session(self, stream: str) -> Session:
        """The session as of the last look at the log while `work` is called. Raises `LogUnavailable`.

        The log is read for it only where it does not follow from the events that `news` is called with.
        """
        session = self.engine.sessions.cached(stream)
        if session is None or session.version < self._seen.get(stream, sys.maxsize):
            session = self.engine.sessions.load(stream)
            self._seen[stream] = session.version
        return session

    def drain(self) -> None:
        """Run all steps that are due, of all streams, except those that another process has to run."""
        self.work(lambda: not self._running and not self._due())

    def remaining_steps(self) -> int:
        """The number of due steps that this process is running or could run."""
        log = self.engine.log
        with self._lock:
            in_hand = tuple(self._running)
        # In this order: a step that a running one makes due in between is then counted as due.
        unfinished = {step for step in in_hand if log.step(step) is not None}
        return len(unfinished | self._due())

    def _due(self) -> set[str]:
        """The ids of the due steps that no process has claimed, except those left to another one."""
        rows = self.engine.log.due(self.engine.clock.now())
        with self._lock:
            return {row.step.id for row in rows} - self._elsewhere.keys()

    def _poll(self) -> None:
        if self._error is not None:
            raise self._error
        self.engine.retry_unsaved()
        news = self._follower.poll()
        self._take(news)
        now = self.engine.clock.monotonic()
        if any(map(self._makes_others_due, news)):
            self._look_at = now
        if not self._lease.ensure():
            return
        with self._lock:
            self._elsewhere = {step: until for step, until in self._elsewhere.items() if until > now}
        if now - self._observed_at >= OBSERVE_EVERY:
            self._observed_at = now
            if reclaim_from_dead_workers(self.engine, self._observer):
                self._look_at = now
        if now < self._look_at:
            return
        self._look_at = float("inf")
        for stream in self._followed():
            for row in self.engine.log.due(self.engine.clock.now(), stream=stream):
                self._launch(row.step)

    def _makes_others_due(self, recorded: RecordedEvent) -> bool:
        """Whether steps may be due after an event that `dispatch` was not called with."""
        return recorded.meta.worker != self.engine.worker or isinstance(recorded.event, StepAbandoned)

    def _take(self, news: Sequence[RecordedEvent]) -> None:
        for recorded in news:
            if recorded.stream in self._seen:
                self._seen[recorded.stream] = max(self._seen[recorded.stream], recorded.version)
                self.engine.sessions.follow(recorded)
        self._news(news)

    def _followed(self) -> Sequence[str | None]:
        """The stream whose steps are run, and those of its sub-agents; None for all."""
        if self._stream is None:
            return [None]
        streams = [self._stream]
        for stream in streams:
            session = self.engine.sessions.cached(stream)
            if isinstance(session, Session):
                streams.extend(stream_of(child.ref.session) for child in session.children)
        self._streams = frozenset(streams)
        return streams

    def _pause(self, longest: float) -> float:
        times = (self.engine.log.next_due_at(stream=stream) for stream in self._followed())
        due_at = min((time for time in times if time is not None), default=None)
        if due_at is None:
            return longest
        remaining = due_at - self.engine.clock.now()
        is_left_to_others = remaining <= 0 and bool(self._elsewhere)
        return longest if due_at <= 0 or is_left_to_others else min(longest, max(remaining, 0.001))

    def _launch(self, step: Step) -> None:
        if self._stream is not None and step.stream not in self._streams:
            self._followed()  # it may have begun a moment ago
            if step.stream not in self._streams:
                return
        with self._lock:
            if not self._open or not self._lease.is_valid:
                return
            if step.id in self._running or step.id in self._elsewhere:
                return
            self._running.add(step.id)
            self._rests.clear()
            self._pool.submit(self._perform, step)

    def _perform(self, step: Step) -> None:
        try:
            if self.engine.run(step.stream, step.id) == "other_worker":
                with self._lock:
                    self._elsewhere[step.id] = self.engine.clock.monotonic() + RETRY_ELSEWHERE
        except Exception as error:  # noqa: BLE001 - raised again by `_poll`, in the caller's thread
            logger.warning("step %s: %s", step.id, error)
            self._error = error
        finally:
            with self._lock:
                self._running.discard(step.id)
                if not self._running:
                    self._rests.set()
