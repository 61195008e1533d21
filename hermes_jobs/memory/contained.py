"""Calls of others' code that may raise anything and take for ever: neither reaches the caller."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TookTooLong(Exception):
    """The call was given up; it may go on in its thread."""


class _Call(Generic[T]):
    """One call in a thread of its own, which no process waits for at its end."""

    def __init__(self, act: Callable[[], T]) -> None:
        self._act = act
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="memory-provider", daemon=True)

    def _run(self) -> None:
        try:
            self._result.append(self._act())
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
            self._error = error

    def within(self, seconds: float) -> T:
        """Its result. Raises what it raised, as `Exception`, or `TookTooLong`."""
        self._thread.start()
        self._thread.join(seconds)
        if self._error is not None:
            if isinstance(self._error, Exception):
                raise self._error
            raise RuntimeError(type(self._error).__name__) from self._error
        if not self._result:
            raise TookTooLong(f"gave no answer within {seconds:g} s")
        return self._result[0]


def within(seconds: float, act: Callable[[], T]) -> T:
    """What `act` returns. Raises what it raises, or `TookTooLong`."""
    return _Call(act).within(seconds)
