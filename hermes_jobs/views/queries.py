"""The queries behind the views' answers, and how rows become values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection, Row
from typing import Any

from msgspec.structs import replace

from hermes_jobs.domain.usage import Usage
from hermes_jobs.errors import Rejected
from hermes_jobs.views.message_texts import Texts
from hermes_jobs.views.models import (
    MessageView,
    SessionView,
    StepView,
    TurnFailure,
    TurnStatus,
    TurnView,
    UsageTotals,
)

HIDDEN_KINDS = ("review", "subagent")

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
SUMS = ", ".join(f"coalesce(sum(r.{column}), 0) AS {column}" for column in TOKENS)
# One unknown price makes the sum unknown.
BOOKS = f"""{SUMS}, count(r.position) AS num_model_calls,
    iif(count(r.position) = count(r.cost_usd), coalesce(sum(r.cost_usd), 0.0), NULL) AS cost_usd"""
WAITS = """(turns.waits_until IS NOT NULL
    OR EXISTS (SELECT 1 FROM steps WHERE steps.turn = turns.turn AND steps.outcome = 'waiting'))"""
STATUS = f"iif(turns.status = 'running' AND {WAITS}, 'waiting', turns.status)"


def select_turns(
    connection: Connection, texts: Texts, *, lineage: str | None, status: TurnStatus | None, limit: int
) -> tuple[TurnView, ...]:
    """Turns without their steps, newest first."""
    conditions = ["TRUE"]
    values: list[str] = []
    if lineage is not None:
        conditions.append("lineage = ?")
        values.append(lineage)
    if status is not None:
        stored = "running" if status == "waiting" else status
        conditions.append("status = ?")
        values.append(stored)
    if status in {"running", "waiting"}:
        conditions.append(WAITS if status == "waiting" else f"NOT {WAITS}")
    chosen = f"SELECT turn FROM turns WHERE {' AND '.join(conditions)} ORDER BY position DESC LIMIT ?"
    turns = _turns(connection, texts, chosen, (*values, limit))
    return tuple(_with_end(connection, texts, each) for each in turns)


def select_turn(connection: Connection, texts: Texts, turn: str) -> TurnView:
    """One turn with its steps, by its whole id. Raises `Rejected`, kind `unknown_turn`."""
    found = _find_turn(connection, texts, turn)
    if found is None:
        raise Rejected(
            f"There is no turn {turn!r}.", kind="unknown_turn", hint="See `hermes-jobs turns list`."
        )
    return replace(_with_end(connection, texts, found), steps=_steps(connection, turn))


def _with_end(connection: Connection, texts: Texts, turn: TurnView) -> TurnView:
    """The turn; a merged one with the answer or error of the turn that its text went into."""
    into = _find_turn(connection, texts, turn.into) if turn.into is not None else None
    if into is None:
        return turn
    end = _with_end(connection, texts, into)
    return replace(turn, answer=end.answer, error=end.error)


def _find_turn(connection: Connection, texts: Texts, turn: str) -> TurnView | None:
    return next(iter(_turns(connection, texts, "SELECT ?", (turn,))), None)


def _turns(
    connection: Connection, texts: Texts, chosen: str, values: Sequence[object]
) -> tuple[TurnView, ...]:
    query = f"""
        SELECT turns.*, {STATUS} AS shown_status, {BOOKS},
            (SELECT count(DISTINCT step) FROM steps
             WHERE steps.turn = turns.turn AND steps.kind = 'tool_call') AS num_tool_calls
        FROM turns LEFT JOIN responses r ON r.turn = turns.turn
        WHERE turns.turn IN ({chosen}) GROUP BY turns.turn ORDER BY turns.position DESC
    """
    rows = fetched(connection, query, values)
    replies = {row["reply"] for row in rows if _answers_with_reply(row)}
    said = texts({row["position"] for row in rows} | replies)
    return tuple(_turn(row, said) for row in rows)


def _answers_with_reply(row: Row) -> bool:
    return row["status"] == "completed" and row["answer"] is None and row["reply"] is not None


def _turn(row: Row, said: Mapping[int, str]) -> TurnView:
    columns = """position lineage session source model into stopped_by cancelled_by submitted_at
        began_waiting_at begun_at ended_at seen_at num_tool_calls waits_until"""
    error = None
    if row["error_kind"] is not None:
        error = TurnFailure(kind=row["error_kind"], message=row["error_message"], hint=row["error_hint"])
    return TurnView(
        id=row["turn"],
        status=row["shown_status"],
        text=said[row["position"]],
        answer=said[row["reply"]] if _answers_with_reply(row) else row["answer"],
        error=error,
        compressed=bool(row["compressed"]),
        books=_books(row),
        **_same(row, columns),
    )


def _steps(connection: Connection, turn: str) -> tuple[StepView, ...]:
    """The turn's steps, in the order in which they were begun."""
    query = f"""
        SELECT s.*, {BOOKS}, coalesce(calls.name, r.model, '') AS name,
            coalesce(calls.arguments, '') AS arguments
        FROM steps s LEFT JOIN calls ON calls.call = s.step LEFT JOIN responses r ON r.position = s.response
        WHERE s.turn = ? GROUP BY s.position ORDER BY s.position
    """
    columns = "kind name arguments attempt worker started_at ended_at outcome message finish_reason"
    return tuple(
        StepView(id=row["step"], books=_books(row), **_same(row, columns))
        for row in fetched(connection, query, (turn,))
    )


def select_sessions(connection: Connection, *, hidden: bool, limit: int) -> tuple[SessionView, ...]:
    """Lineages, the last used first; with `hidden` also those of reviews and sub-agents."""
    kinds = "TRUE" if hidden else f"kind NOT IN {HIDDEN_KINDS}"
    chosen = f"SELECT lineage FROM lineages WHERE {kinds} ORDER BY last_position DESC LIMIT ?"
    return _sessions(connection, chosen, (limit,))


def select_session(connection: Connection, session: str) -> SessionView:
    """The lineage that the session belongs to. Raises `Rejected`, kind `unknown_session`."""
    chosen = "SELECT lineage FROM sessions WHERE session = ?"
    found = _sessions(connection, chosen, (session,))
    if not found:
        raise Rejected(
            f"There is no session {session!r}.",
            kind="unknown_session",
            hint="See `hermes-jobs sessions list`.",
        )
    return found[0]


def _sessions(connection: Connection, chosen: str, values: Sequence[object]) -> tuple[SessionView, ...]:
    open_turns = f"SELECT {STATUS} FROM turns WHERE turns.lineage = l.lineage AND turns.status"
    query = f"""
        SELECT l.*, {BOOKS},
            (SELECT count(*) FROM turns WHERE turns.lineage = l.lineage) AS num_turns,
            (SELECT count(*) FROM messages m WHERE m.lineage = l.lineage) AS num_messages,
            coalesce(({open_turns} = 'running' LIMIT 1), ({open_turns} = 'queued' LIMIT 1),
                     iif(l.ended_because IS NULL, 'idle', 'ended')) AS status
        FROM lineages l LEFT JOIN responses r ON r.lineage = l.lineage
        WHERE l.lineage IN ({chosen}) GROUP BY l.lineage ORDER BY l.last_position DESC
    """
    columns = """lineage parent at kind source title preview model status ended_because num_turns num_messages
        started_at last_at"""
    return tuple(
        SessionView(id=row["tip"], books=_books(row), **_same(row, columns))
        for row in fetched(connection, query, values)
    )


def select_messages(connection: Connection, texts: Texts, lineage: str) -> tuple[MessageView, ...]:
    """The conversation, in the order in which it was heard; texts that still wait stand where they came."""
    query = """
        SELECT m.*, turns.session AS session, calls.name AS name, calls.arguments AS arguments
        FROM messages m JOIN turns ON turns.turn = m.turn LEFT JOIN calls ON calls.call = m.call
        WHERE m.lineage = ? ORDER BY coalesce(m.heard, m.position), m.part, m.position
    """
    columns = "position session turn role call name arguments at"
    rows = fetched(connection, query, (lineage,))
    contents = contents_of(rows, texts)
    return tuple(
        MessageView(content=content, kept=bool(row["kept"]), **_same(row, columns))
        for row, content in zip(rows, contents, strict=True)
    )


def contents_of(messages: Sequence[Row], texts: Texts) -> list[str]:
    """What was said with each of these rows of `messages`."""
    said = texts(row["position"] for row in messages if row["again"] is None)
    return [said[row["position"]] if row["again"] is None else row["again"] for row in messages]


def fetched(connection: Connection, query: str, values: Iterable[object]) -> list[Row]:
    """All rows of a query."""
    cursor = connection.cursor()
    cursor.row_factory = Row
    return cursor.execute(query, tuple(values)).fetchall()


def _same(row: Row, columns: str) -> dict[str, Any]:
    """Those columns under their own names."""
    return {column: row[column] for column in columns.split()}


def _books(row: Row) -> UsageTotals:
    usage = Usage(**_same(row, " ".join(TOKENS)))
    return UsageTotals(usage=usage, cost_usd=row["cost_usd"], num_model_calls=row["num_model_calls"])
