"""What was said, in the order in which the model heard it.

A text is a message from the moment it is accepted, and takes its place in the conversation when its turn
begins, or when it is handed to the running one. What is searched stands here (`content`, and through `calls`
the names and arguments of the calls of `step`); the search index beside it holds no text (see `entries`).
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.domain import events as e
from hermes_jobs.domain.evolve import INTERRUPTED
from hermes_jobs.eventlog.log import Recorded

UNHEARD = "turn = ? AND role = 'user' AND heard IS NULL"


class Messages:
    """Table `messages`, in a conversation's order by `heard`, then `part`.

    `heard` is the position of the event with which the model heard it; null while a text waits for its turn.
    `part` orders what was heard at once: the turn's own text, then those collected for it. `step` is that of
    a reply with calls, `call` that of a result; `kept` says that the whole result is kept apart.
    """

    name: Final = "messages"
    tables: Final = """
        CREATE TABLE messages (
            position INTEGER PRIMARY KEY, lineage TEXT NOT NULL, turn TEXT NOT NULL, role TEXT NOT NULL,
            content TEXT NOT NULL, step TEXT, call TEXT, kept INTEGER NOT NULL, at TEXT NOT NULL, joined TEXT,
            heard INTEGER, part INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX messages_by_lineage ON messages (lineage, heard);
        CREATE INDEX messages_by_turn ON messages (turn) WHERE role = 'user';
        CREATE INDEX messages_by_joined ON messages (joined) WHERE joined IS NOT NULL;
    """

    def apply(self, connection: Connection, events: Sequence[Recorded]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            _take(connection, recorded)


def _take(connection: Connection, recorded: Recorded) -> None:
    event, here = recorded.event, recorded.position
    match event:
        case e.TurnSubmitted():
            _say(connection, recorded, event.turn, "user", event.text)
        case e.ContextPrefetched():
            _hear(connection, recorded, event.turn)
        case e.TurnMerged():
            _join(connection, recorded, event.turn, event.into)
        case e.ModelReplied() if event.content or not was_cut(event):
            step = event.step if event.tool_calls and not was_cut(event) else None
            _say(connection, recorded, event.turn, "assistant", event.content, heard=here, step=step)
        case e.ToolFinished():
            kept = event.spilled_to is not None
            _say(
                connection,
                recorded,
                event.turn,
                "tool",
                event.content,
                heard=here,
                call=event.call,
                kept=kept,
            )
        case e.ToolInterrupted():
            content = INTERRUPTED[event.reason]
            _say(connection, recorded, event.turn, "tool", content, heard=here, call=event.call)
        case _:
            pass


def was_cut(event: e.ModelReplied) -> bool:
    """Whether the reply's calls were cut by the output limit and asked for again: they were not made."""
    return event.finish_reason == "length" and bool(event.tool_calls)


def _say(  # noqa: PLR0913 - the columns
    connection: Connection,
    recorded: Recorded,
    turn: str,
    role: str,
    content: str,
    *,
    heard: int | None = None,
    step: str | None = None,
    call: str | None = None,
    kept: bool = False,
) -> None:
    connection.execute(
        "INSERT INTO messages (position, lineage, turn, role, content, step, call, kept, at, heard)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            recorded.position,
            recorded.stream.removeprefix("session-"),
            turn,
            role,
            content,
            step,
            call,
            kept,
            recorded.recorded_at,
            heard,
        ),
    )


def _join(connection: Connection, recorded: Recorded, turn: str, into: str) -> None:
    """The turn's text is said here, or said again, as part of another turn."""
    here = recorded.position
    _hear_text(connection, recorded, turn)
    connection.execute(
        "UPDATE messages SET joined = ?, part = ? WHERE turn = ? AND role = 'user' AND heard = ?",
        (into, here, turn, here),
    )


def _hear(connection: Connection, recorded: Recorded, turn: str) -> None:
    """The turn's text is said here, or said again for a retried turn, and after it those just collected."""
    here = recorded.position
    _hear_text(connection, recorded, turn)
    joined = connection.execute("SELECT part FROM messages WHERE joined = ? ORDER BY part DESC", (turn,))
    for distance, (merged_at,) in enumerate(joined.fetchall(), start=1):
        if merged_at != here - distance:  # joined before this append: a text that was handed over earlier
            break
        connection.execute(
            "UPDATE messages SET heard = ? WHERE joined = ? AND part = ?", (here, turn, merged_at)
        )


def _hear_text(connection: Connection, recorded: Recorded, turn: str) -> None:
    """The text that waited is heard here; where none did, what the turn said last is said again."""
    here = recorded.position
    if connection.execute(f"UPDATE messages SET heard = ? WHERE {UNHEARD}", (here, turn)).rowcount == 0:
        _say(connection, recorded, turn, "user", _text(connection, turn), heard=here)


def _text(connection: Connection, turn: str) -> str:
    """The turn's text as it was said last, with those that were collected for it then."""
    texts = connection.execute(
        "WITH last (heard) AS (SELECT max(heard) FROM messages WHERE turn = ?1 AND role = 'user')"
        " SELECT content, part FROM messages, last"
        " WHERE turn = ?1 AND role = 'user' AND messages.heard = last.heard"
        " UNION ALL SELECT content, part FROM messages, last"
        " WHERE joined = ?1 AND role = 'user' AND messages.heard = last.heard ORDER BY part",
        (turn,),
    )
    return "\n\n".join(text for text, _ in texts)
