"""The search index: an entry for each message, as it was first said.

One FTS5 table, contentless: it holds the tokens alone (see `spelling`), and the text stands in the log. An
entry is never changed. Large results are found by all of their text, which is read from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from sqlite3 import Connection
from typing import Final, NamedTuple

from hermes_jobs.domain import events as e
from hermes_jobs.domain.events import SessionKind
from hermes_jobs.domain.session import lineage_of
from hermes_jobs.engine.archive import Role
from hermes_jobs.eventlog.log import Recorded
from hermes_jobs.views.messages import was_cut
from hermes_jobs.views.spelling import TOKENIZER, fact, spelled
from hermes_jobs.views.texts import said
from hermes_jobs.views.wording import worded

LONGEST = 2_000_000  # characters of a text that are searchable
PENDING = 1 << 25  # bytes of tokens that FTS5 collects before it writes; a transaction's end writes them too

PIECES = 1_000  # of an index that is being built; they become one at the end
AT_ONCE = 4  # pieces that are merged, a little with each later entry
AT_LAST = 200  # pieces of one size that are merged whatever it takes

Kept = Callable[[str], str | None]
"""Gives the whole of a large result by its call."""


class Entries:
    """Tables `entries`, whose rows are numbered like `messages`, and `days`, which positions each day has.

    It reads `lineages`, `turns` and `calls`, of which it takes what never changes: they stand before it.
    """

    name: Final = "entries"
    tables: Final = f"""
        CREATE VIRTUAL TABLE entries USING fts5 (
            tokens, content = '', columnsize = 0, tokenize = "{TOKENIZER}"
        );
        INSERT INTO entries (entries, rank) VALUES ('hashsize', {PENDING});
        INSERT INTO entries (entries, rank) VALUES ('automerge', 0);
        INSERT INTO entries (entries, rank) VALUES ('crisismerge', {PIECES});
        CREATE TABLE days (day TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
    """
    hears: Final = (e.TurnSubmitted, e.ModelReplied, e.ToolStarted, e.ToolFinished, e.ToolInterrupted)

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def apply(self, connection: Connection, events: Sequence[Recorded]) -> None:
        """Take a batch of events into the tables."""
        batch = _Batch(connection)
        for recorded in events:
            message = self._message(batch, recorded)
            if message is not None:
                batch.add(recorded, message)
        batch.write()

    def _message(self, batch: _Batch, recorded: Recorded) -> _Message | None:
        """The message that the event is, in words; null where it is none."""
        event = recorded.event
        match event:
            case e.TurnSubmitted():
                batch.begins(recorded.stream, event)
                return _Message(event.turn, "user", event.text)
            case e.ModelReplied():
                asked = () if was_cut(event) else event.tool_calls
                text = worded(event.content, ((call.name, call.arguments) for call in asked))
                return _Message(event.turn, "assistant", text) if text else None
            case e.ToolStarted():
                batch.calls(event)
                return None
            case e.ToolFinished():
                whole = self._kept(event.call) if event.spilled_to is not None else None
                content = event.content if whole is None else whole
                return _Message(event.turn, "tool", worded(content, batch.called(event.call)))
            case e.ToolInterrupted():
                text = worded(said(event), batch.called(event.call))
                return _Message(event.turn, "tool", text)
            case _:
                return None


def in_one_piece(connection: Connection) -> None:
    """Merge what was built; what comes later is merged a little at a time."""
    connection.execute("INSERT INTO entries (entries) VALUES ('optimize')")
    for name, value in (("automerge", AT_ONCE), ("crisismerge", AT_LAST)):
        connection.execute("INSERT INTO entries (entries, rank) VALUES (?, ?)", (name, value))


class _Message(NamedTuple):
    turn: str
    role: Role
    text: str


class _Batch:
    """The entries of one batch."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._entries: list[tuple[int, str]] = []
        self._days: dict[str, tuple[int, int]] = {}
        self._origins: dict[str, tuple[str, SessionKind]] = {}
        self._sources: dict[str, tuple[str, str]] = {}
        self._kinds: dict[str, SessionKind] = {}
        self._names: dict[str, str] = {}

    def add(self, recorded: Recorded, message: _Message) -> None:
        """Take a message in."""
        here, day = recorded.position, recorded.recorded_at[:10]
        origin = self._origins.get(message.turn) or self._find(message.turn)
        known = _known(message.role, *origin)
        self._entries.append((here, spelled(message.text[:LONGEST], known)))
        first, _ = self._days.get(day, (here, here))
        self._days[day] = (first, here)

    def called(self, call: str) -> tuple[tuple[str, str], ...]:
        """The name of the tool that was called."""
        name = self._names.get(call)
        if name is None:
            row = self._connection.execute("SELECT name FROM calls WHERE call = ?", (call,)).fetchone()
            return () if row is None else ((row[0], ""),)
        return ((name, ""),)

    def write(self) -> None:
        """Put the entries into the tables."""
        self._connection.executemany("INSERT INTO entries (rowid, tokens) VALUES (?, ?)", self._entries)
        self._connection.executemany(
            "INSERT INTO days VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last = excluded.last",
            [(day, first, last) for day, (first, last) in self._days.items()],
        )

    def begins(self, stream: str, event: e.TurnSubmitted) -> None:
        """Remember where the texts of a turn come from."""
        self._sources[event.turn] = (lineage_of(stream), event.source)

    def calls(self, event: e.ToolStarted) -> None:
        """Remember which tool is called."""
        self._names[event.call] = event.name

    def _find(self, turn: str) -> tuple[str, SessionKind]:
        """Where a turn's text came from, and the kind of its session."""
        query = "SELECT lineage, source FROM turns WHERE turn = ?"
        lineage, source = self._sources.get(turn) or self._connection.execute(query, (turn,)).fetchone()
        if lineage not in self._kinds:
            query = "SELECT kind FROM lineages WHERE lineage = ?"
            (self._kinds[lineage],) = self._connection.execute(query, (lineage,)).fetchone()
        self._origins[turn] = origin = (source, self._kinds[lineage])
        return origin


@lru_cache(maxsize=1000)
def _known(role: Role, source: str, kind: SessionKind) -> str:
    """What is known of such a message."""
    return " ".join((fact("role", role), fact("source", source), fact("kind", kind)))
