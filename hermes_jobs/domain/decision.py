"""A change: a decision over streams besides a session's own, made again whenever one of them has moved on.

Tools whose whole effect is events (memory, skills, schedules) hand one to the engine, which appends effect,
outcome and release together: exactly once, never unknown. People's commands are changes too.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from hermes_jobs.domain.events import Event


class UniqueKey(msgspec.Struct, frozen=True, kw_only=True):
    """A name that may be used once. It points at the first event of the append's first stream."""

    scope: str
    key: str
    digest: str


class StreamEvents(msgspec.Struct, frozen=True):
    """What happens to one stream."""

    stream: str
    facts: tuple[Event, ...]


class DecisionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a change comes to. `answer` is what the tool or the person who asked for it is told."""

    writes: tuple[StreamEvents, ...] = ()
    answer: str = ""
    keys: tuple[UniqueKey, ...] = ()


class StateLoader(Protocol):
    """Gives the state of a stream as the log has it: a `Memory`, a `Skill`, … by the stream's name."""

    def __call__(self, stream: str) -> Any: ...


class Decision(Protocol):
    """A pure decision: everything it reads comes from `load`, everything it does is in what it returns.

    May be called several times. Raises `Rejected` where it cannot be; a tool's model is then told why.
    """

    def __call__(self, load: StateLoader) -> DecisionResult: ...
