"""Messages in the order in which the model received them.

A text is a message as soon as it is accepted. It gets its place in the conversation when its turn begins, or
when the running turn receives it. The text itself is in the log, at the message's position (see
`message_texts`), and the search index holds its tokens (see `search_index`).
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.turns.synthetic_messages import is_unfinished
from hermes_jobs.kernel.views.message_texts import Texts, text_of
from hermes_jobs.kernel.views.rows import insert_all

UNSENT = "turn = ? AND role = 'user' AND received IS NULL"

Row = dict[str, str | int | None]


class Messages:
    """Table `messages`, in a conversation's order by `received`, then `part`.

    `received` is the position of the event with which the model received it; None while a text waits. `part`
    orders texts received at once: the turn's own text, then those collected for it. `step` is that of a reply
    with calls, `call` that of a result; `kept`: the complete result is stored separately. `again` is the text
    of a message that is repeated for a retried turn; None for every other message.
    """

    name: Final = "messages"
    tables: Final = """
        CREATE TABLE messages (
            position INTEGER PRIMARY KEY, lineage TEXT NOT NULL, turn TEXT NOT NULL, role TEXT NOT NULL,
            again TEXT, step TEXT, call TEXT, kept INTEGER NOT NULL, at TEXT NOT NULL, joined TEXT,
            received INTEGER, part INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX messages_by_lineage ON messages (lineage, received);
        CREATE INDEX messages_by_turn ON messages (turn) WHERE role = 'user';
        CREATE INDEX messages_by_joined ON messages (joined) WHERE joined IS NOT NULL;
    """
    event_types: Final = (
        *(e.TurnSubmitted, e.ContextPrefetched, e.TurnMerged),
        *(e.ModelReplied, e.ModelCallFailed, e.ToolFinished, e.ToolInterrupted),
    )

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        batch = _Batch(connection, self._texts)
        for recorded in events:
            batch.take(recorded)
        batch.write()


def was_cut(event: e.ModelReplied) -> bool:
    """Whether the reply's calls were cut by the output limit and requested again: they were not run."""
    return event.finish_reason == "length" and bool(event.tool_calls)


class _Batch:
    """The messages of one batch, written together."""

    def __init__(self, connection: Connection, texts: Texts) -> None:
        self._connection = connection
        self._texts = texts
        self._new_rows: list[Row] = []
        self._waiting: dict[str, Row] = {}

    def take(self, recorded: RecordedEvent) -> None:
        event, here = recorded.event, recorded.position
        match event:
            case e.TurnSubmitted():
                self._waiting[event.turn] = self._add(recorded, event.turn, "user")
            case e.ContextPrefetched():
                self._receive(recorded, event.turn)
                if text_of(event):
                    self._add(recorded, event.turn, "tool", received=here)
            case e.TurnMerged():
                self._join(recorded, event.turn, event.into)
            case e.ModelReplied() if event.content or not was_cut(event):
                step = event.step if event.tool_calls and not was_cut(event) else None
                self._add(recorded, event.turn, "assistant", received=here, step=step)
            case e.ModelCallFailed() if is_unfinished(event):
                self._add(recorded, event.turn, "assistant", received=here)
            case e.ToolFinished():
                kept = int(event.spilled_to is not None)
                self._add(recorded, event.turn, "tool", received=here, call=event.call, kept=kept)
            case e.ToolInterrupted():
                self._add(recorded, event.turn, "tool", received=here, call=event.call)
            case _:
                pass

    def write(self) -> None:
        """Insert messages into the table."""
        insert_all(self._connection, "messages", self._new_rows)
        self._new_rows.clear()
        self._waiting.clear()

    def _add(self, recorded: RecordedEvent, turn: str, role: str, **others: str | int | None) -> Row:
        row: Row = {
            "position": recorded.position,
            "lineage": lineage_of(recorded.stream),
            "turn": turn,
            "role": role,
            "at": recorded.recorded_at,
            "kept": 0,
            "part": 0,
            **others,
        }
        self._new_rows.append(row)
        return row

    def _join(self, recorded: RecordedEvent, turn: str, into: str) -> None:
        """The model receives the turn's text here, or receives it again, as part of another turn."""
        here = recorded.position
        self._receive_text(recorded, turn)
        self.write()
        self._connection.execute(
            "UPDATE messages SET joined = ?, part = ? WHERE turn = ? AND role = 'user' AND received = ?",
            (into, here, turn, here),
        )

    def _receive(self, recorded: RecordedEvent, turn: str) -> None:
        """The model receives the turn's text (again for a retried turn), then the collected texts."""
        here = recorded.position
        if self._receive_waiting(turn, here):
            return  # and none was collected for it, or there would be a row
        self._receive_text(recorded, turn)
        query = "SELECT part FROM messages WHERE joined = ? ORDER BY part DESC"
        joined = self._connection.execute(query, (turn,)).fetchall()
        for distance, (merged_at,) in enumerate(joined, start=1):
            if merged_at != here - distance:  # joined before this append
                break
            self._connection.execute(
                "UPDATE messages SET received = ? WHERE joined = ? AND part = ?", (here, turn, merged_at)
            )

    def _receive_waiting(self, turn: str, here: int) -> bool:
        """Whether the turn's text is in this batch and was waiting; if so, the model receives it here."""
        waiting = self._waiting.pop(turn, None)
        if waiting is not None:
            waiting["received"] = here
        return waiting is not None

    def _receive_text(self, recorded: RecordedEvent, turn: str) -> None:
        """The model receives the waiting text here; without one, it receives the turn's last text again."""
        here = recorded.position
        if self._receive_waiting(turn, here):
            return
        self.write()
        updated = self._connection.execute(f"UPDATE messages SET received = ? WHERE {UNSENT}", (here, turn))
        if updated.rowcount == 0:
            self._add(recorded, turn, "user", received=here, again=self._last(turn))

    def _last(self, turn: str) -> str:
        """The turn's text as last received, with the texts collected for it then."""
        rows = self._connection.execute(
            "WITH last (received) AS (SELECT max(received) FROM messages WHERE turn = ?1 AND role = 'user')"
            " SELECT position, again, part FROM messages, last"
            " WHERE turn = ?1 AND role = 'user' AND messages.received = last.received"
            " UNION ALL SELECT position, again, part FROM messages, last"
            " WHERE joined = ?1 AND role = 'user' AND messages.received = last.received ORDER BY part",
            (turn,),
        ).fetchall()
        texts = self._texts(position for position, again, _ in rows if again is None)
        return "\n\n".join(texts[position] if again is None else again for position, again, _ in rows)
