"""Inline worker of a gateway or chat process, active while no worker is alive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.live import OnDelta, ignore_delta
from hermes_jobs.runtime.connector_preparation import connector_preparation
from hermes_jobs.runtime.inline_worker import InlineWorker

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # seconds between checks of live workers


class FallbackWorker:
    """A thread that runs due steps while no worker is alive. `notify` is called when it begins and ends,
    `on_delta` with models' deltas.

    `own` gives a stream whose turns this process runs if live workers lack their requirements (None:
    none), and these requirements.
    """

    def __init__(
        self,
        application: Application,
        notify: Callable[[str], None],
        *,
        on_delta: OnDelta = ignore_delta,
        own: Callable[[], tuple[str | None, Mapping[str, str]]] = lambda: (None, {}),
    ) -> None:
        self._application = application
        self._own = own
        self._on_delta = on_delta
        self._notify = notify
        self._stopping = threading.Event()
        self._checked_at = float("-inf")
        self._is_relieved = False
        self._thread = threading.Thread(target=self._run, name="helper", daemon=True)

    def start(self) -> None:
        """Begin, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Claim no further steps, finish writes, and leave the rest to others."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._application.workers.are_live():
                    self._work()
                elif (stream := self._reserved()) is not None:
                    self._work_on(stream)
                else:
                    self._stopping.wait(POLL_SECONDS)
            except Exception:
                logger.exception("the worker was interrupted; it continues")
                self._stopping.wait(POLL_SECONDS)

    def _work(self) -> None:
        """Run due steps until stopped, or until a worker is alive again."""
        self._notify("No worker is alive: this process runs the turns, too.")
        self._is_relieved, self._checked_at = False, self._application.clock.monotonic()
        connectors = connector_preparation(self._application)
        connectors.start()
        try:
            with InlineWorker(self._application, on_delta=self._on_delta) as worker:
                worker.work(self._is_done)
        finally:
            connectors.stop()
        if not self._stopping.is_set():
            self._notify("Workers are alive: they run the turns.")

    def _reserved(self) -> str | None:
        """The own stream, if no live worker can run its turns."""
        stream, requires = self._own()
        return None if stream is None or self._application.workers.are_live(requires) else stream

    def _work_on(self, stream: str) -> None:
        """Run due steps of one stream until stopped, until others can run them, or until the own stream
        changes."""
        clock = self._application.clock
        looked_at = clock.monotonic()

        def is_done() -> bool:
            nonlocal looked_at
            if clock.monotonic() - looked_at < POLL_SECONDS:
                return self._stopping.is_set()
            looked_at = clock.monotonic()
            return self._stopping.is_set() or self._reserved() != stream

        with InlineWorker(self._application, on_delta=self._on_delta) as worker:
            worker.work(is_done, stream=stream)

    def _is_done(self) -> bool:
        now = self._application.clock.monotonic()
        if now - self._checked_at >= POLL_SECONDS:
            self._checked_at = now
            self._is_relieved = self._application.workers.are_live()
        return self._is_relieved or self._stopping.is_set()
