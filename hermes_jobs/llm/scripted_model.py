"""A scripted model for tests of this project and of applications built on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel, ModelError, ModelRequest, Reply
from hermes_jobs.llm.client import cancelled

PIECE = 16  # characters per delta


class HeldCall(msgspec.Struct, frozen=True):
    """A reply that is held back until `ScriptedModel.release`."""

    reply: Reply


Line = Reply | ModelError | HeldCall
Script = Iterable[Line] | Callable[[ModelRequest], Line]


class ScriptedModel:
    """Replies by a sequence, in the order of the requests, or by a function of the request.

    `requests` are the received ones. Safe for many threads.
    """

    def __init__(self, script: Script) -> None:
        self._lock = threading.Lock()
        self._released = False
        self._waiting_calls: list[threading.Event] = []
        self._arrived = threading.Condition(self._lock)
        self._function = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self.requests: list[ModelRequest] = []

    def release(self) -> None:
        """Release the held replies, and all later ones."""
        with self._lock:
            self._released = True
            for over in self._waiting_calls:
                over.set()

    def wait_for_requests(self, count: int, patience: float = 30.0) -> None:
        """Wait until `count` requests have arrived. Raises TimeoutError after `patience` seconds."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, patience):
                raise TimeoutError(f"{len(self.requests)} of {count} requests came")

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`. Raises LookupError at the end of the sequence."""
        line = self._next(request)
        if isinstance(line, HeldCall):
            self._wait(cancel)
            line = line.reply
        if cancel.reason is not None:
            raise cancelled(cancel)
        if isinstance(line, ModelError):
            raise line
        for start in range(0, len(line.content), PIECE):
            on_text(line.content[start : start + PIECE])
            if cancel.reason is not None:
                raise cancelled(cancel)
        return line

    def _next(self, request: ModelRequest) -> Line:
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            if self._function is None:
                line = next(self._lines, None)
                if line is None:
                    raise LookupError(f"The script ended before request {len(self.requests)}: {request}")
                return line
        return self._function(request)

    def _wait(self, cancel: Cancel) -> None:
        over = threading.Event()
        with self._lock:
            self._waiting_calls.append(over)
            if self._released:
                over.set()
        take_back = cancel.on_cancel(over.set)
        over.wait()
        take_back()
