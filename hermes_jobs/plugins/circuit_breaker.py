"""Calls to plugins, which may raise anything and may not return: a circuit breaker and a deadline for each.

A call past its deadline is abandoned; it continues in a daemon thread, which does not keep the process alive.
After `FAILURES` failures in a row the circuit is open for `REST` seconds: calls are refused.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from hermes_jobs.system.clock import Clock

logger = logging.getLogger(__name__)

T = TypeVar("T")
FAILURES = 3  # in a row, after which the part is left alone
REST = 60.0  # seconds


class CallTimeout(Exception):
    """The call took longer than its deadline and was abandoned."""


class CircuitOpen(Exception):
    """The plugin failed repeatedly and is not called for a while."""


class CircuitBreaker:
    """Calls to one plugin in one process. `part` names it in log messages. Safe for many threads.

    `passes`: exceptions that do not count as the plugin's failure.
    """

    def __init__(
        self,
        part: str,
        clock: Clock,
        redact: Callable[[str], str],
        passes: tuple[type[Exception], ...] = (),
    ) -> None:
        self.part = part
        self._clock = clock
        self._redact = redact
        self._passes = passes
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until = float("-inf")

    def call(self, act: Callable[[], T], seconds: float) -> T:
        """What `act` returns. Raises what it raises, `CallTimeout`, `CircuitOpen`."""
        if self._clock.monotonic() < self._rests_until:
            raise CircuitOpen(f"{self.part} failed again and again; it is left alone for a while")
        try:
            result = within(seconds, act)
        except self._passes:
            raise
        except Exception:
            self._failed()
            raise
        self._failures = 0
        return result

    def ask(self, what: str, act: Callable[[], T], seconds: float, otherwise: T) -> T:
        """What `act` returns; `otherwise` where it fails, takes too long, or the circuit is open."""
        return self.call_or_default(what, lambda: self.call(act, seconds), otherwise)

    def call_or_default(self, what: str, call: Callable[[], T], otherwise: T) -> T:
        """What `call` returns; `otherwise` where it raises, which is logged."""
        try:
            return call()
        except CircuitOpen:
            return otherwise
        except Exception as error:  # noqa: BLE001 - any exception of a plugin
            self.log_failure(what, error)
            return otherwise

    def log_failure(self, what: str, error: Exception) -> None:
        """Log a failure that has no other consequence."""
        logger.warning("%s: %s failed: %s", self.part, what, self.describe(error))

    def describe(self, error: Exception) -> str:
        """The error's type and message, without secrets."""
        return self._redact(f"{type(error).__name__}: {error}")

    def _failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES:
                self._failures = FAILURES - 1  # after the pause one more failure opens it again
                self._rests_until = self._clock.monotonic() + REST
                logger.warning("%s is left alone for %g s", self.part, REST)


def within(seconds: float, act: Callable[[], T]) -> T:
    """What `act` returns. Raises what it raises, or `CallTimeout`."""
    return _Call(act).within(seconds)


class _Call(Generic[T]):
    """One call in its own thread."""

    def __init__(self, act: Callable[[], T]) -> None:
        self._act = act
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="others-code", daemon=True)

    def _run(self) -> None:
        try:
            self._result.append(self._act())
        except BaseException as error:  # noqa: BLE001 - raised again for the caller
            self._error = error

    def within(self, seconds: float) -> T:
        """Its result. Raises what it raised, as `Exception`, or `CallTimeout`."""
        self._thread.start()
        self._thread.join(seconds)
        if self._error is not None:
            if isinstance(self._error, Exception):
                raise self._error
            raise RuntimeError(type(self._error).__name__) from self._error
        if not self._result:
            raise CallTimeout(f"gave no answer within {seconds:g} s")
        return self._result[0]
