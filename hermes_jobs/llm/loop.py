"""One asyncio loop in its own thread, for coroutines that other threads wait for and may cancel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
THREAD = "model-calls"


class LoopThread:
    """Runs coroutines for other threads. The thread starts with the first one; thread-safe.

    Cancelling the future that `submit` returns ends its wait at once and cancels the task on the loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._closed = False

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the coroutine on the loop. Raises RuntimeError after `close`."""
        try:
            loop = self._running()
        except RuntimeError:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, loop)

    def close(self) -> None:
        """Cancel running tasks and end the thread. A second call does nothing."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is None:
            return
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise RuntimeError("The loop thread was closed; make a new model.")
            if self._thread is None:
                ready = threading.Event()
                self._thread = threading.Thread(target=self._serve, args=(ready,), name=THREAD, daemon=True)
                self._thread.start()
                ready.wait()
            assert self._loop is not None, "the thread says it is ready only with a loop"
            return self._loop

    def _serve(self, ready: threading.Event) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._until_stopped(ready))

    async def _until_stopped(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        ready.set()
        await self._stop.wait()
