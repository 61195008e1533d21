"""The thread that follows the log for a chat, so that new events are shown without a key press."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel.events.recorded import RecordedEvent

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5  # seconds between two polls without events: shown durations change
LOG_RETRY_SECONDS = 1.0  # seconds before the retry of an unreachable log


class LogThread:
    """Calls `news` with each new batch of events, also with empty ones."""

    def __init__(
        self,
        application: Application,
        news: Callable[[Sequence[RecordedEvent]], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self._log = application.log
        self._news = news
        self._trouble = on_problem
        self._stopping = threading.Event()
        self._position = self._log.last_position()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        text = ""
        while not self._stopping.is_set():
            try:
                self._poll()
                text = ""
            except HermesJobsError as error:
                if str(error) != text:
                    self._trouble(str(error))
                text = str(error)
                self._stopping.wait(LOG_RETRY_SECONDS)
            except Exception:
                logger.exception("the chat's log thread failed; it continues")
                self._stopping.wait(LOG_RETRY_SECONDS)

    def _poll(self) -> None:
        batch = self._log.tail(self._position)
        self._news(batch)
        if batch:
            self._position = batch[-1].position
        self._log.wait(self._position, POLL_SECONDS)
