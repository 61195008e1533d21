"""How many children run at once, below one root and in the whole home: the fold of the stream `children`.

A child that waits for its own children releases its slot, so that they can run. It takes one again as soon
as none of its calls waits any more, even if the limit is exceeded by one for a while. If it took one while
another call waits, that call's children might never get a slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events import (
    ChildrenQueued,
    ChildSlotEvent,
    ChildSlotFreed,
    ChildSlotTaken,
    QueuedChild,
)

STREAM = "children"


class ChildSlots(msgspec.Struct, frozen=True, kw_only=True):
    """The running children and the queued ones, oldest first; the newest limits."""

    stream: str = STREAM
    version: int = 0
    running: tuple[QueuedChild, ...] = ()
    waiting: tuple[QueuedChild, ...] = ()
    per_root: int = 0
    per_home: int = 0

    def runs(self, child: str) -> bool:
        """Whether the child of that session has a slot."""
        return any(slot.session == child for slot in self.running)

    def knows(self, child: str) -> bool:
        """Whether the child of that session has a slot or is queued."""
        return any(slot.session == child for slot in (*self.running, *self.waiting))


def evolve(slots: ChildSlots, event: ChildSlotEvent) -> ChildSlots:
    """The slots after one more event."""
    slots = replace(slots, version=slots.version + 1)
    match event:
        case ChildrenQueued():
            limits = {"per_root": event.per_root, "per_home": event.per_home}
            return replace(slots, waiting=(*slots.waiting, *event.children), **limits)
        case ChildSlotTaken():
            child = QueuedChild(session=event.child, root=event.root)
            return replace(
                slots, running=(*_without(slots.running, event.child), child), **_waiting(slots, event.child)
            )
        case ChildSlotFreed():
            return replace(
                slots, running=_without(slots.running, event.child), **_waiting(slots, event.child)
            )


def queued(
    slots: ChildSlots, children: Iterable[QueuedChild], per_root: int, per_home: int
) -> tuple[ChildSlotEvent, ...]:
    """The events of started children: those within the limits run at once."""
    event = ChildrenQueued(children=tuple(children), per_root=per_root, per_home=per_home)
    return (event, *_admitted(evolve(slots, event)))


def freed(slots: ChildSlots, child: str) -> tuple[ChildSlotEvent, ...]:
    """The events of a child that ended, or begins to wait: others get its slot. Empty if it had none."""
    if not slots.knows(child):
        return ()
    event = ChildSlotFreed(child=child)
    return (event, *_admitted(evolve(slots, event)))


def retaken(slots: ChildSlots, child: str, root: str) -> tuple[ChildSlotEvent, ...]:
    """The event of a child that continues after waiting, regardless of the limits."""
    return () if slots.runs(child) else (ChildSlotTaken(child=child, root=root),)


def fold(slots: ChildSlots, events: Iterable[ChildSlotEvent]) -> ChildSlots:
    """The slots after those events, in order."""
    return reduce(evolve, events, slots)


def _admitted(slots: ChildSlots) -> Iterator[ChildSlotTaken]:
    """The queued children that fit the limits, the oldest first."""
    for queued in slots.waiting:
        below_root = sum(other.root == queued.root for other in slots.running)
        if len(slots.running) < slots.per_home and below_root < slots.per_root:
            event = ChildSlotTaken(child=queued.session, root=queued.root)
            slots = evolve(slots, event)
            yield event


def _without(children: tuple[QueuedChild, ...], child: str) -> tuple[QueuedChild, ...]:
    return tuple(other for other in children if other.session != child)


def _waiting(slots: ChildSlots, child: str) -> dict[str, tuple[QueuedChild, ...]]:
    return {"waiting": _without(slots.waiting, child)}
