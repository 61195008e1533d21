"""A decision: a pure function of stream states that returns events, repeated after each write conflict.

Tools whose whole effect is events (memory, skills, schedules) return a decision. The engine appends its
events, the tool's outcome and the release of the claim in one append: exactly once. User commands are
decisions too.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from hermes_jobs.kernel.events import Event


class UniqueKey(msgspec.Struct, frozen=True, kw_only=True):
    """A name that can be used once. It points at the first event of the append's first stream."""

    scope: str
    key: str
    digest: str


class StreamEvents(msgspec.Struct, frozen=True):
    """The events to append to one stream."""

    stream: str
    events: tuple[Event, ...]


class LargeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is too large for a message, stored beside the events. `call` is its name; for a tool's
    result, the id of the call.
    """

    call: str
    content: str


class DecisionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a decision. `answer` is the text for the tool's model or the user, `large_results` are
    stored beside the events. `failed`: the attempt of the step that it ends has failed, as its events say; or
    the tool's call has not had its effect. For users, then, in few words: `refused` says why it will not have
    it, `waits` that it may have it later.
    """

    writes: tuple[StreamEvents, ...] = ()
    answer: str = ""
    keys: tuple[UniqueKey, ...] = ()
    large_results: tuple[LargeResult, ...] = ()
    failed: bool = False
    refused: str = ""
    waits: str = ""

    @classmethod
    def of(cls, stream: str, *events: Event, answer: str = "") -> DecisionResult:
        """These events on one stream, and nothing else."""
        return cls(writes=(StreamEvents(stream, events),), answer=answer)


class StateLoader(Protocol):
    """Loads a stream's state from the log by the stream's name: a `Memory`, a `Skill` and so on."""

    def __call__(self, stream: str) -> Any: ...


class Decision(Protocol):
    """A pure decision: it reads through `load` only, and its effects are its result only.

    May be called several times. Raises `Rejected` where it is not possible; the model that called the tool
    gets the reason.
    """

    def __call__(self, load: StateLoader) -> DecisionResult: ...


def append(stream: str, *events: Event, failed: bool = False) -> Decision:
    """The decision to append these events to one stream as they are; see `DecisionResult` for `failed`."""
    result = DecisionResult(writes=(StreamEvents(stream, events),), failed=failed)
    return lambda load: result
