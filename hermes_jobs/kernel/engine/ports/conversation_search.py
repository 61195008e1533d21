"""The port for searching all conversations and reading one again.

Moments are ISO 8601, UTC, as in the log.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from hermes_jobs.kernel.events import SessionKind

Role = Literal["user", "assistant", "tool"]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Where to search. `after` is included, `before` is not; `source` is that of the turn's text.

    `roles`: those of the messages, empty for all; `hidden`: also in reviews and sub-agents' sessions;
    `outside`: not in the lineage of this session, its ancestors or its sub-agents.
    """

    roles: tuple[Role, ...] = ()
    after: str | None = None
    before: str | None = None
    source: str | None = None
    hidden: bool = False
    outside: str | None = None


EVERYWHERE = Scope()


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was found. `session` is its lineage's newest session, `label` its name in a list.

    `snippet` marks the matches: `… the >>>match<<< in its place …`. `relaxed`: it has only some of the
    query's words, perhaps in other forms.
    """

    session: str
    lineage: str
    kind: SessionKind
    source: str
    title: str | None
    label: str
    turn: str
    role: Role
    position: int
    snippet: str
    at: str
    relaxed: bool = False


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """The message just before or after a hit."""

    role: Role
    position: int
    text: str


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A hit as a model reads it: the relevant part of its text, and the messages around it. `before` is the
    message that it answers, `after` its answer; None if there is none, or another passage of the same result
    shows it.
    """

    hit: SearchHit
    text: str
    before: Near | None = None
    after: Near | None = None


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A lineage of sessions, as it is listed. `preview` is the beginning of its first text."""

    session: str
    kind: SessionKind
    source: str
    title: str | None
    preview: str
    started_at: str
    last_at: str
    num_messages: int


class TranscriptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a conversation. `name` and `arguments` are those of the tool call that it is the result
    of."""

    role: Role
    content: str
    name: str | None = None
    arguments: str | None = None


class ConversationSearch(Protocol):
    """All conversations, current with the log. Safe for many threads. Raises `LogUnavailable`."""

    def search(self, query: str, *, scope: Scope, limit: int) -> tuple[SearchHit, ...]:
        """The best hits, grouped by lineage, the best lineage first. Never raises because of the query."""

    def passages(self, query: str, *, scope: Scope, limit: int, least: float = 0.0) -> tuple[Passage, ...]:
        """The best hits of all lineages, best first, each with the messages around it. `least`: the share of
        the query's words, weighted by rarity, that a hit has to contain.
        """

    def searched(self, scope: Scope) -> int:
        """The approximate number of messages that such a search covers."""

    def recent(self, *, scope: Scope, limit: int) -> tuple[SessionSummary, ...]:
        """Lineages within the scope's kinds and source, the last used first."""

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        """The messages of that session's lineage, in order. Raises `Rejected` for an unknown one."""
