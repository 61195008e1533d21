"""Events of the one stream `children`: which children run, and which wait until others have ended."""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events.event import Event


class QueuedChild(msgspec.Struct, frozen=True, kw_only=True):
    """A child's session, and the turn at the root of its tree."""

    session: str
    root: str


class ChildrenQueued(Event, frozen=True, kw_only=True):
    """Children were started. So many may run at once below one root, and in the whole home."""

    children: tuple[QueuedChild, ...]
    per_root: int
    per_home: int


class ChildSlotTaken(Event, frozen=True, kw_only=True):
    """The child runs from here on, or continues after it waited for its own children."""

    child: str
    root: str


class ChildSlotFreed(Event, frozen=True, kw_only=True):
    """The child has ended, or waits for its own children."""

    child: str


ChildSlotEvent = ChildrenQueued | ChildSlotTaken | ChildSlotFreed
