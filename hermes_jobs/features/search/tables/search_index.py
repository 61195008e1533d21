"""The search index: an entry for each message, at its first appearance.

One contentless FTS5 table: it holds the tokens alone (see `index_tokens`); the text is in the log. An
entry is never changed. Large results are indexed with their whole text, which is read from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from sqlite3 import Connection
from typing import Final, NamedTuple

from hermes_jobs.features.search.tables.index_tokens import TOKENIZER, metadata_token, tokenize
from hermes_jobs.features.search.tables.passage_index import TABLES as PASSAGES
from hermes_jobs.features.search.tables.passage_index import PassageIndex
from hermes_jobs.features.search.tables.searchable_text import searchable_text
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports.conversation_search import Role
from hermes_jobs.kernel.events import SessionKind
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.turns.synthetic_messages import is_unfinished
from hermes_jobs.kernel.views.message_texts import Texts, text_of, with_attached
from hermes_jobs.kernel.views.messages import was_cut
from hermes_jobs.kernel.views.projection import ViewSources

OF_THE_PAST = frozenset({"session_search", "recall_compacted"})
"""Tools that search conversations: their calls and results repeat earlier texts."""

ECHO = metadata_token("echo", "past")
"""The token of such a call or result."""

LONGEST = 2_000_000  # characters of a text that are searchable
PENDING = 1 << 25  # bytes of tokens that FTS5 collects before it writes; a transaction's end writes them too

PIECES = 1_000  # of an index that is being built; they become one at the end
AT_ONCE = 4  # pieces that are merged, a little with each later entry
AT_LAST = 200  # segments of one size that are always merged

_SETTINGS = f"""
    INSERT INTO {{0}} ({{0}}, rank) VALUES ('hashsize', {PENDING});
    INSERT INTO {{0}} ({{0}}, rank) VALUES ('automerge', 0);
    INSERT INTO {{0}} ({{0}}, rank) VALUES ('crisismerge', {PIECES});
"""


class SearchIndex:
    """Tables `entries`, whose rows are numbered like `messages`, and `days`, which positions each day has.

    It reads constant columns of `lineages`, `turns` and `calls`, whose projections come before it.
    """

    name: Final = "entries"
    tables: Final = f"""
        CREATE VIRTUAL TABLE entries USING fts5 (
            tokens, content = '', tokenize = "{TOKENIZER}"
        );
        {PASSAGES}
        {_SETTINGS.format("entries")}
        {_SETTINGS.format("entries_of_passages")}
        CREATE TABLE days (day TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
    """
    event_types: Final = (
        *(e.TurnSubmitted, e.ContextPrefetched, e.ModelReplied, e.ModelCallFailed),
        *(e.ToolStarted, e.ToolFinished, e.ToolInterrupted),
    )

    def __init__(self, sources: ViewSources) -> None:
        self._sources = sources

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        batch = _Batch(connection, self._sources.texts)
        for recorded in events:
            message = self._message(batch, recorded)
            if message is not None:
                batch.add(recorded, message)
        batch.write()

    def _message(self, batch: _Batch, recorded: RecordedEvent) -> _Message | None:
        """The searchable message of the event; None if it is none."""
        event = recorded.event
        match event:
            case e.TurnSubmitted():
                batch.begins(recorded.stream, event)
                return _Message(event.turn, "user", self._whole(event, event.text), spoken=event.text)
            case e.ModelReplied():
                calls = () if was_cut(event) else event.tool_calls
                text = searchable_text(event.content, ((call.name, call.arguments) for call in calls))
                echo = any(call.name in OF_THE_PAST for call in calls)
                searchable = "" if echo else event.content
                return _Message(event.turn, "assistant", text, searchable, echo) if text else None
            case e.ModelCallFailed() if is_unfinished(event):
                return _Message(event.turn, "assistant", event.content, event.content)
            case e.ContextPrefetched():
                said = text_of(event)
                return _Message(event.turn, "tool", said) if said else None
            case e.ToolStarted():
                batch.calls(event)
                return None
            case e.ToolFinished():
                result = self._sources.result(event.call) if event.spilled_to is not None else None
                content = event.content if result is None else result
                return _result(event.turn, self._whole(event, content), batch.called(event.call))
            case e.ToolInterrupted():
                return _result(event.turn, text_of(event), batch.called(event.call))
            case _:
                return None

    def _whole(self, event: e.Event, text: str) -> str:
        return with_attached(event, text, self._sources.documents)


def in_one_piece(connection: Connection) -> None:
    """Merge the index after building it; later entries are merged incrementally."""
    for index in ("entries", "entries_of_passages"):
        connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
        for name, value in (("automerge", AT_ONCE), ("crisismerge", AT_LAST)):
            connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES (?, ?)", (name, value))


class _Message(NamedTuple):
    """`spoken` is its text of a user or the model; `echo`: it is part of a search of the past."""

    turn: str
    role: Role
    text: str
    spoken: str = ""
    echo: bool = False


def _result(turn: str, content: str, called: Sequence[tuple[str, str]]) -> _Message:
    echo = any(name in OF_THE_PAST for name, _ in called)
    return _Message(turn, "tool", searchable_text(content, called), echo=echo)


class _Batch:
    """The entries of one batch."""

    def __init__(self, connection: Connection, texts: Texts) -> None:
        self._connection = connection
        self._passages = PassageIndex(connection, texts)
        self._entries: list[tuple[int, str]] = []
        self._days: dict[str, tuple[int, int]] = {}
        self._origins: dict[str, tuple[str, SessionKind]] = {}
        self._sources: dict[str, tuple[str, str]] = {}
        self._kinds: dict[str, SessionKind] = {}
        self._names: dict[str, str] = {}

    def add(self, recorded: RecordedEvent, message: _Message) -> None:
        """Take a message in."""
        here, day = recorded.position, recorded.recorded_at[:10]
        origin = self._origins.get(message.turn) or self._find(message.turn)
        metadata = _metadata(message.role, *origin, echo=message.echo)
        self._entries.append((here, tokenize(message.text[:LONGEST], metadata)))
        self._passages.add(lineage_of(recorded.stream), here, message.spoken)
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
        self._passages.write()

    def begins(self, stream: str, event: e.TurnSubmitted) -> None:
        """Remember the source of a turn's texts."""
        self._sources[event.turn] = (lineage_of(stream), event.source)

    def calls(self, event: e.ToolStarted) -> None:
        """Remember which tool is called."""
        self._names[event.call] = event.name

    def _find(self, turn: str) -> tuple[str, SessionKind]:
        """The source of a turn's text, and the kind of its session."""
        query = "SELECT lineage, source FROM turns WHERE turn = ?"
        lineage, source = self._sources.get(turn) or self._connection.execute(query, (turn,)).fetchone()
        if lineage not in self._kinds:
            query = "SELECT kind FROM lineages WHERE lineage = ?"
            (self._kinds[lineage],) = self._connection.execute(query, (lineage,)).fetchone()
        self._origins[turn] = origin = (source, self._kinds[lineage])
        return origin


@lru_cache(maxsize=1000)
def _metadata(role: Role, source: str, kind: SessionKind, *, echo: bool) -> str:
    """The index tokens for the metadata of a message."""
    events = (metadata_token("role", role), metadata_token("source", source), metadata_token("kind", kind))
    return " ".join((*events, ECHO) if echo else events)
