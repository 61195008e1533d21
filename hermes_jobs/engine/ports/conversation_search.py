"""The port to everything that was ever said: searching it, and reading a conversation again.

Moments are ISO 8601, UTC, as in the log.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from hermes_jobs.domain.events import SessionKind

Role = Literal["user", "assistant", "tool"]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Where to search. `after` is included, `before` is not; `source` is that of the turn's text.

    `roles`: who spoke, nobody named for all; `hidden`: also in reviews and sub-agents' sessions; `outside`:
    not in the lineage of this session, nor in those above and below it where work was delegated.
    """

    roles: tuple[Role, ...] = ()
    after: str | None = None
    before: str | None = None
    source: str | None = None
    hidden: bool = False
    outside: str | None = None


EVERYWHERE = Scope()


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was searched for. `session` is its lineage's tip, `label` what to call that in a list.

    `snippet` marks the matches: `… the >>>match<<< in its place …`. `relaxed`: it does not hold all that the
    query named, but some of its words, perhaps in other forms.
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
    """What was said just before or after a hit."""

    role: Role
    position: int
    text: str


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A hit as a model reads it: the part of its text that matters, and what was said around it.

    `before` is what it answers, `after` what answered it; None where nothing was said there, or where
    another passage of the same answer shows it.
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
    """Something that was said. `name` and `arguments` are those of the call that a tool's answers."""

    role: Role
    content: str
    name: str | None = None
    arguments: str | None = None


class ConversationSearch(Protocol):
    """All conversations, current with the log. Safe for many threads. Raises `LogUnavailable`."""

    def search(self, query: str, *, scope: Scope, limit: int) -> tuple[SearchHit, ...]:
        """The best hits, those of a lineage together, the best lineage first. Nothing in a query raises."""

    def passages(self, query: str, *, scope: Scope, limit: int, least: float = 0.0) -> tuple[Passage, ...]:
        """The best hits wherever they stand, best first, each with what was said around it.

        `least`: the share of the query's words, by how rare they are, that a hit has to hold.
        """

    def searched(self, scope: Scope) -> int:
        """About how many messages a search there looks through."""

    def recent(self, *, scope: Scope, limit: int) -> tuple[SessionSummary, ...]:
        """Lineages within the scope's kinds and source, the last used first."""

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        """What was said in the lineage of that session, in order. Raises `Rejected` for an unknown one."""
