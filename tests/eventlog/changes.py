"""Short ways to write appends in tests."""

from __future__ import annotations

from typing import Any

from hermes_jobs.kernel.events import Event, SessionTitled
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StepGuard, StepRow, StreamWrite
from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.kernel.turns.steps import Step

META = EventMeta(worker="w-test")
MOMENT = "2026-11-21T12:00:00.000000Z"


def titled(title: str) -> SessionTitled:
    """A small event to tell apart by its title."""
    return SessionTitled(session="s", title=title)


def titles(recorded: Any) -> list[str]:
    """The titles of what was recorded, in order."""
    return [each.event.title for each in recorded]


def write(stream: str, *names: str, expected: int | None = None, **rest: Any) -> StreamWrite:
    """Titles for one stream."""
    events: tuple[Event, ...] = tuple(titled(name) for name in names)
    return StreamWrite(stream=stream, events=events, expected=expected, **rest)


def append(*writes: StreamWrite, **rest: Any) -> Append:
    """An append of these writes."""
    return Append(meta=META, recorded_at=MOMENT, writes=writes, **rest)


def step(step_id: str, stream: str = "session-a", *, not_before: float = 0.0, attempt: int = 1) -> Step:
    """A model call that is due."""
    return Step(id=step_id, stream=stream, kind="turn.call_model", attempt=attempt, not_before=not_before)


def due(*steps: Step, stream: str = "session-a") -> Append:
    """An append that makes steps due."""
    return append(write(stream, due=steps))


def claim(step_id: str, owner: str = "w-1", fence: int = 7, *writes: StreamWrite, **rest: Any) -> Append:
    """An append that claims a step."""
    return append(*writes, guard=StepGuard(action="claim", step=step_id, owner=owner, fence=fence), **rest)


def finish(step_id: str, owner: str = "w-1", fence: int = 7, *writes: StreamWrite) -> Append:
    """An append that finishes a claimed step."""
    return append(*writes, guard=StepGuard(action="finish", step=step_id, owner=owner, fence=fence))


def key(name: str, scope: str = "turn", digest: str = "d") -> UniqueKey:
    """A name that may be used once."""
    return UniqueKey(scope=scope, key=name, digest=digest)


def ids(rows: Any) -> list[str]:
    """The ids of step rows, in order."""
    return [row.step.id for row in rows]


def held(row: StepRow | None) -> tuple[str | None, int]:
    """Who holds a step, and under which fence."""
    assert row is not None
    return row.owner, row.fence
