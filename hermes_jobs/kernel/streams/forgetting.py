"""Forgetting: what is removed from which streams, and the record of it. `texts` knows what can be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events import (
    ChildrenStarted,
    ForgettingEvent,
    SessionStarted,
    TextsForgotten,
)
from hermes_jobs.kernel.streams.texts import Replace
from hermes_jobs.kernel.turns.session import PREFIX as SESSIONS

PREFIX = "forgetting-"
KEY_SCOPE, NEWEST, ERASED = "forgotten", "newest", "erased"
"""Keys of the log: the newest removal, and the newest one whose remains are erased from the database."""

KEY_SCOPES = frozenset({"title", "turn"})
"""The scopes of keys that are texts: titles, and keys that a user gave to turns."""

DELETED = "[deleted]"
FORGOTTEN = "[forgotten]"
ENDED_BECAUSE = "deleted"
"""The reason with which a deleted session has ended."""


def nowhere(_stored: str) -> bool:
    """The `found` of a removal without a pattern."""
    return False


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """A removal: each text is replaced by the result of `text`; only in these streams, if any are named.
    `ids`: with those, the events of opaque streams that hold one of these ids.
    `found`: whether the pattern, if there is one, matches stored JSON. `blobs`: the digests of attached
    contents with what is removed. An attachment is removed as a whole, also for its name or description.
    """

    text: Replace
    streams: frozenset[str] | None = None
    ids: frozenset[str] = frozenset()
    found: Callable[[str], bool] = nowhere
    blobs: frozenset[str] = frozenset()

    def concerns(self, stream: str, data: str, *, is_opaque: bool) -> bool:
        """Whether an event of the stream, with that JSON, is searched."""
        if self.streams is None or stream in self.streams:
            return True
        return is_opaque and any(id_ in data for id_ in self.ids)

    def drops(self, scope: str, key: str, stream: str) -> bool:
        """Whether a key of the log is removed: those of titles, and those that users gave to turns."""
        if scope not in KEY_SCOPES:
            return False
        return self.text(key) != key if self.streams is None else stream in self.streams


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a stream `forgetting-ID`, which has one event."""

    stream: str
    version: int = 0
    event: TextsForgotten | None = None


def evolve(state: Forgetting, event: ForgettingEvent) -> Forgetting:
    """The state after the event."""
    return replace(state, version=state.version + 1, event=event)


class SessionFamily(msgspec.Struct, frozen=True, kw_only=True):
    """The streams of a session and of what worked for it, and the streams of sessions that forked them."""

    streams: frozenset[str]
    sessions: frozenset[str]
    forks: frozenset[str]


def family_of(
    stream: str,
    started: Sequence[tuple[str, SessionStarted]],
    delegated: Sequence[tuple[str, ChildrenStarted]] = (),
    *,
    with_forks: bool,
) -> SessionFamily:
    """The sessions deleted with a lineage: its reviews and sub-agents, and optionally its forks, with theirs.

    `started`: the begin of every session of the log, with its stream; `delegated`: the sub-agents that each
    stream began, some of which may have ended before their session did begin.
    """
    streams, forks = {stream}, set[str]()
    sessions = {stream.removeprefix(SESSIONS)}
    while True:
        before = len(streams), len(forks), len(sessions)
        for its, event in started:
            if its in streams:
                sessions.add(event.session)
            elif event.parent in sessions:
                is_fork = event.kind == "conversation"
                (streams if with_forks or not is_fork else forks).add(its)
        for its, begun in delegated:
            if its in streams:
                streams.update(f"{SESSIONS}{ref.session}" for ref in begun.children)
                sessions.update(ref.session for ref in begun.children)
        if before == (len(streams), len(forks), len(sessions)):
            return SessionFamily(
                streams=frozenset(streams), sessions=frozenset(sessions), forks=frozenset(forks)
            )


def deleted(text: str) -> str:
    """The `Replace` of a session that is deleted."""
    return DELETED if text else text


def excluding_stored(text: Replace, stored: Collection[str]) -> Replace:
    """The same, but stored texts that would become equal get a number, because memory entries are identified
    by their texts.
    """
    became: dict[str, str] = {}
    used = {unchanged for unchanged in stored if text(unchanged) == unchanged}
    for stored_text in dict.fromkeys(stored):
        new, number = text(stored_text), 1
        while new != stored_text and new in used:
            number += 1
            new = f"{text(stored_text)} ({number})"
        used.add(new)
        became[stored_text] = new
    return lambda value: became.get(value, text(value))
