"""Helper calls: model calls beside those of turns, such as one for a title. Each is a step of its stream.

HelperCallStarted ─▶ HelperCallEnded, HelperCallFailed (retried later, or final)

The stream of the feature says why a call is due and what became of its answer. The call itself, with its
attempts, its reservation and its cost, is the same for all of them, and it is here.
"""

from __future__ import annotations

from typing import Protocol, Self

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import StepLost
from hermes_jobs.kernel.events import (
    Event,
    HelperCallEnded,
    HelperCallEvent,
    HelperCallFailed,
    HelperCallStarted,
)
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.streams.usage import Reservation

MAX_STARTS = 5
"""Starts without an outcome after which a call fails for good: its workers died."""


class HelperCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call without an outcome; `id` is that of its step. `starts` are those of this attempt, `reserved` is
    the reservation of the last one. `retry_at` is in seconds since the epoch."""

    id: str
    attempt: int = 1
    starts: int = 0
    retry_at: float = 0.0
    reserved: Reservation | None = None

    @property
    def running(self) -> bool:
        """Whether a worker has started it."""
        return self.starts > 0

    def after(self, event: HelperCallEvent) -> Self | None:
        """The call after its event; None if that is its outcome."""
        match event:
            case HelperCallStarted():
                return replace(self, starts=self.starts + 1, reserved=event.reserved)
            case HelperCallFailed(retry_at=float() as retry_at):
                again = self.attempt + 1
                return replace(self, attempt=again, starts=0, retry_at=retry_at, reserved=None)
            case _:
                return None


class HelperState(Protocol):
    """The state of a stream with helper calls."""

    @property
    def stream(self) -> str:
        """The stream's name."""

    def helper_call(self, step: str) -> HelperCall | None:
        """The open call with that id."""


def required(state: HelperState, step: str) -> HelperCall:
    """The open call with that id. Raises `StepLost`."""
    call = state.helper_call(step)
    if call is None:
        raise StepLost(f"call {step} has its outcome")
    return call


def record_start(stream: str, step: str, reserved: Reservation | None) -> Decision:
    """Record that a worker starts the call. Raises `StepLost`."""

    def change(load: StateLoader) -> DecisionResult:
        call = required(load(stream), step)
        event = HelperCallStarted(step=step, attempt=call.attempt, reserved=reserved, lost=call.reserved)
        return DecisionResult.of(stream, event)

    return change


def fail(stream: str, failure: HelperCallFailed, *before: Event) -> Decision:
    """Record that the attempt failed, after the events of its cost. Raises `StepLost`."""

    def change(load: StateLoader) -> DecisionResult:
        required(load(stream), failure.step)
        return DecisionResult(writes=(StreamEvents(stream, (*before, failure)),), failed=True)

    return change


def ended(call: HelperCall) -> HelperCallEnded:
    """The end of a call whose cost is in other events."""
    return HelperCallEnded(step=call.id, attempt=call.attempt)


def failure(call: HelperCall, kind: str, message: str, *, retry_at: float | None = None) -> HelperCallFailed:
    """The failure of an attempt that cost nothing, or whose cost is in other events."""
    return HelperCallFailed(step=call.id, attempt=call.attempt, kind=kind, message=message, retry_at=retry_at)
