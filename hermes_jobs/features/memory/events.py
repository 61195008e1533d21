"""Events of the stream `memory`: the entries about the user and the work."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.origins import Author as Author  # noqa: PLC0414 - offered here as well
from hermes_jobs.kernel.events.origins import Evidence as Evidence  # noqa: PLC0414

MemoryTarget = Literal["memory", "user"]


MemoryClass = Literal["identity", "episodic", "working"]
"""`identity`: before others in every prompt. `episodic`: in prompts up to the limit, else recalled when a
message is about it. `working`: only in the session that wrote it, for some days.
"""


class MemoryAdded(Event, frozen=True, kw_only=True):
    """A new entry at the end of the target.

    `undoes`: the version of the write that this one reverts. `file`: the digest of the hand-edited file that
    this write was read from. `anyway`: a user allows the entry in prompts although a scan rule matches it.
    `kind` None: the default of the target. `provisional`: a review wrote it, and its verification has to show
    whether it helps. For an observation: `observed`, the day (ISO 8601) on which it was true; `observed_in`,
    the turns that state it; `said_at`, the end of the last of these (ISO 8601, UTC); `review`, the
    consolidation that wrote it; `slot`, the property that it gives a value, if only one value can be true.
    Empty for other entries.
    """

    target: MemoryTarget
    content: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None
    anyway: bool = False
    kind: MemoryClass | None = None
    tags: tuple[str, ...] = ()
    provisional: bool = False
    observed: str = ""
    observed_in: tuple[str, ...] = ()
    review: str = ""
    said_at: str = ""
    slot: str = ""


class MemoryReplaced(Event, frozen=True, kw_only=True):
    """The entry `old` was replaced by `content`, at the same place, or only its `kind` or `tags` were.

    `anyway`: see `MemoryAdded`. `kind` None and no `tags`: unchanged. `why`: the curator's reason,
    `curation`: the id of its changes that are undone together. `observed`: an observation replaces an older
    one. That and the other fields: see `MemoryAdded`.
    """

    target: MemoryTarget
    old: str
    content: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None
    anyway: bool = False
    kind: MemoryClass | None = None
    tags: tuple[str, ...] = ()
    why: str = ""
    curation: str = ""
    provisional: bool = False
    observed: str = ""
    observed_in: tuple[str, ...] = ()
    review: str = ""
    said_at: str = ""
    slot: str = ""


class MemoryConfirmed(Event, frozen=True, kw_only=True):
    """The entry `content` was saved again."""

    target: MemoryTarget
    content: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None


class MemoryRemoved(Event, frozen=True, kw_only=True):
    """The entry `old` was removed. `why`, `curation`: see `MemoryReplaced`."""

    target: MemoryTarget
    old: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None
    why: str = ""
    curation: str = ""


class MemoryArranged(Event, frozen=True, kw_only=True):
    """The entries were reordered; `old` is the order before."""

    target: MemoryTarget
    entries: tuple[str, ...]
    old: tuple[str, ...]
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None


class MemoryConflicted(Event, frozen=True, kw_only=True):
    """The agent and a user changed the entry `old` differently; both versions are stored.

    `ours` is the version in the log, `theirs` the one that the user saved; None: that side removed the entry.
    """

    target: MemoryTarget
    old: str
    ours: str | None
    theirs: str | None
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None


MemoryEvent = (
    MemoryAdded | MemoryReplaced | MemoryConfirmed | MemoryRemoved | MemoryArranged | MemoryConflicted
)
