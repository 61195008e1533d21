"""Events of the stream `memory`: what the agent knows of its user and of the work, entry by entry."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event

Author = Literal["turn", "review", "flush", "user", "hand_edit", "curator"]
"""Who wrote: the agent in a conversation, in a review or before a compression, a person by command, a person
in an editor, or a curator's proposal that a person applied."""

MemoryTarget = Literal["memory", "user"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a write came from: the session, its turn, and the tool call that asked for it."""

    session: str
    turn: str | None = None
    call: str | None = None


class MemoryAdded(Event, frozen=True, kw_only=True):
    """A new entry at the target's end.

    `undoes`: the version of the write that this one takes back. `file`: the digest of the file, as a person
    had left it, that this was taken in from. `anyway`: a person wants it in prompts although a rule of the
    scan names it.
    """

    target: MemoryTarget
    content: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None
    anyway: bool = False


class MemoryReplaced(Event, frozen=True, kw_only=True):
    """The entry `old` reads `content` from here on, at the same place. `anyway`: see `MemoryAdded`."""

    target: MemoryTarget
    old: str
    content: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None
    anyway: bool = False


class MemoryRemoved(Event, frozen=True, kw_only=True):
    """The entry `old` is gone."""

    target: MemoryTarget
    old: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None


class MemoryArranged(Event, frozen=True, kw_only=True):
    """The entries stand in this order from here on; `old` is their order before."""

    target: MemoryTarget
    entries: tuple[str, ...]
    old: tuple[str, ...]
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None


class MemoryConflicted(Event, frozen=True, kw_only=True):
    """The agent and a person changed the entry `old` differently, and what either made of it is kept.

    `ours` is what the log had by then, `theirs` what the person saved; None: that side removed the entry.
    """

    target: MemoryTarget
    old: str
    ours: str | None
    theirs: str | None
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None
    file: str | None = None


MemoryEvent = MemoryAdded | MemoryReplaced | MemoryRemoved | MemoryArranged | MemoryConflicted
