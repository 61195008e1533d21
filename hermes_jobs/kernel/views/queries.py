"""The queries behind the views' answers, and how rows become values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sqlite3 import Connection, Row

import msgspec
from msgspec import json
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import InputRequested
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.stops import FAILING, STOPPED
from hermes_jobs.kernel.views.children import PLACE, place_of
from hermes_jobs.kernel.views.list_filters import LISTED_SESSIONS, LISTED_TURNS
from hermes_jobs.kernel.views.message_texts import Texts
from hermes_jobs.kernel.views.models import (
    MessageView,
    SessionView,
    StatusFilter,
    StepView,
    TurnFailure,
    TurnView,
    UsageTotals,
)
from hermes_jobs.kernel.views.rows import fetched, value_of
from hermes_jobs.system.struct_types import described

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
SUMS = ", ".join(f"coalesce(sum(r.{column}), 0) AS {column}" for column in TOKENS)
# One unknown price makes the sum unknown.
TOTALS = f"""{SUMS}, count(r.position) AS num_model_calls,
    iif(count(r.position) = count(r.cost_usd), coalesce(sum(r.cost_usd), 0.0), NULL) AS cost_usd,
    coalesce(sum(r.cost_usd), 0.0) AS known_cost_usd"""
OF_SCHEDULE = "r.turn IN (SELECT turn FROM runs WHERE schedule = ?) OR r.lineage = ?"
"""Whether a response is of a schedule, by its id and stream: of a run, or of the reading of its words."""
ASKS = "EXISTS (SELECT 1 FROM steps WHERE steps.turn = turns.turn AND steps.outcome = 'waiting')"
"""Whether a call of the turn itself waits for a person."""
ASKS_BELOW = """EXISTS (SELECT 1 FROM ancestors a CROSS JOIN steps
    WHERE a.above = turns.turn AND steps.turn = a.turn AND steps.outcome = 'waiting'
    AND NOT EXISTS (SELECT 1 FROM ancestors p CROSS JOIN children c
        WHERE p.above = turns.turn AND c.turn = p.turn AND c.ended IS NOT NULL AND (c.turn = a.turn
            OR EXISTS (SELECT 1 FROM ancestors q WHERE q.turn = a.turn AND q.above = c.turn))))"""
"""Whether a call of one of its sub-agents, or of theirs, does. A sub-agent that a user continued after its
end was reported belongs to no turn any more."""
WAITS = f"(turns.waits_until IS NOT NULL OR {ASKS} OR {ASKS_BELOW})"
FORSAKEN = f"""({ASKS} AND EXISTS (SELECT 1 FROM children c JOIN turns root ON root.turn = c.root_turn
    WHERE c.turn = turns.turn AND (root.ended_at IS NOT NULL OR c.ended IS NOT NULL OR EXISTS (
        SELECT 1 FROM ancestors q CROSS JOIN children m
        WHERE q.turn = turns.turn AND m.turn = q.above AND m.ended IS NOT NULL))))"""
"""A sub-agent that waits for a user, while no turn above it waits for its end."""
STOPPED_SHORT = f"""(status = 'completed' AND stopped_by IS NOT NULL
    OR status = 'failed' AND error_kind IN ({", ".join("?" * len(FAILING))}))"""
STATUS = f"iif(turns.status = 'running' AND {WAITS}, 'waiting', turns.status)"


class TurnFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which turns are listed. `since` is a moment of the log, before which none was submitted; with `hidden`
    also those of reviews and sub-agents."""

    status: StatusFilter | None = None
    label: str | None = None
    since: str | None = None
    hidden: bool = False


def select_turns(
    connection: Connection,
    texts: Texts,
    lineage: str | None,
    wanted: TurnFilter,
    limit: int,
) -> tuple[TurnView, ...]:
    """Turns without their steps, newest first; all of a lineage, else with `hidden` those of reviews too.

    A sub-agent that waits for a person makes the turns above it wait; if the root's has ended, it is listed
    as waiting itself.
    """
    status = wanted.status
    listed = f"({LISTED_TURNS} OR {FORSAKEN})" if status == "waiting" else LISTED_TURNS
    conditions = ["TRUE" if wanted.hidden or lineage is not None else listed]
    values: list[str] = []
    if lineage is not None:
        conditions.append("lineage = ?")
        values.append(lineage)
    if status is not None:
        stored = "running" if status == "waiting" else status
        conditions.append(STOPPED_SHORT if status == STOPPED else "status = ?")
        values += FAILING if status == STOPPED else (stored,)
    if wanted.label is not None:
        conditions.append("EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)")
        values.append(wanted.label)
    if wanted.since is not None:
        conditions.append("submitted_at >= ?")
        values.append(wanted.since)
    if status in {"running", "waiting"}:
        conditions.append(WAITS if status == "waiting" else f"NOT {WAITS}")
    chosen = f"SELECT turn FROM turns WHERE {' AND '.join(conditions)} ORDER BY position DESC LIMIT ?"
    turns = _turns(connection, texts, chosen, (*values, limit))
    return tuple(_with_end(connection, texts, turn) for turn in turns)


def select_turn(connection: Connection, texts: Texts, turn: str) -> TurnView:
    """One turn with its steps, by its whole id. Raises `Rejected`, kind `unknown_turn`."""
    row = _find_turn(connection, texts, turn)
    if row is None:
        raise _unknown_turn(turn)
    return replace(_with_end(connection, texts, row), steps=_steps(connection, turn))


def select_turns_below(connection: Connection, texts: Texts, turn: str) -> tuple[TurnView, ...]:
    """The turns of the tree that one belongs to, without their steps, in the order in which they began.

    Raises `Rejected`, kind `unknown_turn`.
    """
    query = "SELECT root_turn FROM children WHERE turn = ?"
    (root,) = connection.execute(query, (turn,)).fetchone() or (turn,)
    chosen = "SELECT ?1 UNION ALL SELECT turn FROM ancestors WHERE above = ?1"
    turns = _turns(connection, texts, chosen, (root,))
    if not turns:
        raise _unknown_turn(turn)
    return tuple(reversed(turns))


def select_waiting_calls(connection: Connection, turns: Sequence[str]) -> list[tuple[str, StepView]]:
    """The calls of these turns that wait for a person, each with its turn, in their order."""
    condition = f"s.outcome = 'waiting' AND s.turn IN ({', '.join('?' * len(turns))})"
    return [(row["turn"], _step(row)) for row in _step_rows(connection, condition, turns)]


def _with_end(connection: Connection, texts: Texts, turn: TurnView) -> TurnView:
    """The turn; a merged one with the answer or error of the turn that received its text."""
    into = _find_turn(connection, texts, turn.into) if turn.into is not None else None
    if into is None:
        return turn
    end = _with_end(connection, texts, into)
    return replace(turn, answer=end.answer, error=end.error, files=end.files)


def _find_turn(connection: Connection, texts: Texts, turn: str) -> TurnView | None:
    return next(iter(_turns(connection, texts, "SELECT ?", (turn,))), None)


def _turns(
    connection: Connection, texts: Texts, chosen: str, values: Sequence[object]
) -> tuple[TurnView, ...]:
    query = f"""
        SELECT turns.*, {STATUS} AS shown_status, {TOTALS}, {PLACE},
            (SELECT count(DISTINCT step) FROM steps
             WHERE steps.turn = turns.turn AND steps.kind = 'tool_call') AS num_tool_calls,
            (SELECT json_group_array(text) FROM
                (SELECT text FROM warnings w WHERE w.turn = turns.turn ORDER BY position)) AS warnings,
            (SELECT json_object('files', json_group_array(json(file))) FROM
                (SELECT file FROM delivered_files f WHERE f.turn = turns.turn ORDER BY position)) AS files
        FROM turns LEFT JOIN responses r ON r.turn = turns.turn LEFT JOIN children c ON c.turn = turns.turn
        WHERE turns.turn IN ({chosen}) GROUP BY turns.turn ORDER BY turns.position DESC
    """
    rows = fetched(connection, query, values)
    replies = {row["reply"] for row in rows if _answers_with_reply(row)}
    found_texts = texts({row["position"] for row in rows} | replies)
    return tuple(_turn(row, found_texts) for row in rows)


def _answers_with_reply(row: Row) -> bool:
    return row["status"] == "completed" and row["answer"] is None and row["reply"] is not None


def _turn(row: Row, found_texts: Mapping[int, str]) -> TurnView:
    error = None
    if row["error_kind"] is not None:
        error = TurnFailure(kind=row["error_kind"], message=row["error_message"], hint=row["error_hint"])
    return value_of(
        TurnView,
        row,
        id=row["turn"],
        status=row["shown_status"],
        text=found_texts[row["position"]],
        answer=found_texts[row["reply"]] if _answers_with_reply(row) else row["answer"],
        error=error,
        stopped_by=row["error_kind"] if row["error_kind"] in FAILING else row["stopped_by"],
        compressed=bool(row["compressed"]),
        has_schema=bool(row["has_schema"]),
        rating_note=row["rating_note"] or "",
        labels=json.decode(row["labels"] or "[]", type=tuple[str, ...]),
        waits_for=row["waits_for"] or "",
        totals=totals_of(row),
        place=place_of(row),
        warnings=tuple(json.decode(row["warnings"], type=list[str])),
        files=tuple(dict.fromkeys(json.decode(row["files"], type=described(_Files)).files)),
        steps=(),
    )


class _Files(msgspec.Struct):
    """The files that a turn delivers."""

    files: tuple[Attachment, ...]


def _unknown_turn(turn: str) -> Rejected:
    return Rejected(f"There is no turn {turn!r}.", kind="unknown_turn", hint="See `hermes-jobs turns list`.")


def _steps(connection: Connection, turn: str) -> tuple[StepView, ...]:
    """The turn's steps, in the order of their start."""
    return tuple(map(_step, _step_rows(connection, "s.turn = ?", (turn,))))


def _step_rows(connection: Connection, condition: str, values: Sequence[str]) -> list[Row]:
    query = f"""
        SELECT s.*, {TOTALS}, coalesce(calls.name, nullif(s.member, ''), r.model, '') AS name,
            coalesce(calls.arguments, '') AS arguments
        FROM steps s LEFT JOIN calls ON calls.call = s.step LEFT JOIN responses r ON r.position = s.response
        WHERE {condition} GROUP BY s.position ORDER BY s.position
    """
    return fetched(connection, query, values)


def _step(row: Row) -> StepView:
    asks = json.decode(row["asks"], type=described(InputRequested)) if row["asks"] else None
    return value_of(StepView, row, id=row["step"], totals=totals_of(row), asks=asks)


def select_sessions(
    connection: Connection, *, since: str | None = None, hidden: bool = False, limit: int = 20
) -> tuple[SessionView, ...]:
    """Lineages, the last used first; with `hidden` also undone and deleted ones, reviews and sub-agents.
    `since` is a moment of the log, since which they were used.
    """
    shown = "TRUE" if hidden else LISTED_SESSIONS
    used = "last_at >= coalesce(?, '')"
    chosen = f"SELECT lineage FROM lineages WHERE {shown} AND {used} ORDER BY last_position DESC LIMIT ?"
    return _sessions(connection, chosen, (since, limit))


def select_newest_conversation(connection: Connection, workdir: str | None = None) -> SessionView | None:
    """The conversation that was used last in that folder (None: anywhere); None where there is none. Runs of
    schedules, reviews and sub-agents are not conversations."""
    chosen = """SELECT lineage FROM lineages WHERE kind = 'conversation' AND undone_into IS NULL
        AND (?1 IS NULL OR workdir = ?1) ORDER BY last_position DESC LIMIT 1"""
    return next(iter(_sessions(connection, chosen, (workdir,))), None)


def select_session(connection: Connection, session: str) -> SessionView:
    """The lineage of any of its sessions' whole ids. Raises `Rejected`, kind `unknown_session`."""
    chosen = "SELECT lineage FROM sessions WHERE session = ?"
    sessions = _sessions(connection, chosen, (session,))
    if not sessions:
        raise Rejected(
            f"There is no session {session!r}.",
            kind="unknown_session",
            hint="See `hermes-jobs sessions list`.",
        )
    return sessions[0]


def _sessions(connection: Connection, chosen: str, values: Sequence[object]) -> tuple[SessionView, ...]:
    open_turns = f"SELECT {STATUS} FROM turns WHERE turns.lineage = l.lineage AND turns.status"
    query = f"""
        SELECT l.*, {TOTALS}, {PLACE},
            (SELECT count(*) FROM turns WHERE turns.lineage = l.lineage) AS num_turns,
            (SELECT count(*) FROM messages m WHERE m.lineage = l.lineage) AS num_messages,
            coalesce(({open_turns} = 'running' LIMIT 1), ({open_turns} = 'queued' LIMIT 1),
                     iif(l.ended_because IS NULL, 'idle', 'ended')) AS status
        FROM lineages l LEFT JOIN responses r ON r.lineage = l.lineage
            LEFT JOIN children c ON c.lineage = l.lineage
        WHERE l.lineage IN ({chosen}) GROUP BY l.lineage ORDER BY l.last_position DESC
    """
    return tuple(_session(row) for row in fetched(connection, query, values))


def _session(row: Row) -> SessionView:
    place = place_of(row)
    return value_of(
        SessionView,
        row,
        id=row["tip"],
        parent=row["parent"] if place is None else place.parent,
        root=None if place is None else place.root,
        place=place,
        totals=totals_of(row),
    )


def select_messages(connection: Connection, texts: Texts, lineage: str) -> tuple[MessageView, ...]:
    """The conversation, in the order in which the model received it; waiting texts by their position."""
    query = """
        SELECT m.*, turns.session AS session, calls.name AS name, calls.arguments AS arguments
        FROM messages m JOIN turns ON turns.turn = m.turn LEFT JOIN calls ON calls.call = m.call
        WHERE m.lineage = ? ORDER BY coalesce(m.received, m.position), m.part, m.position
    """
    rows = fetched(connection, query, (lineage,))
    contents = contents_of(rows, texts)
    return tuple(
        value_of(MessageView, row, content=content, kept=bool(row["kept"]))
        for row, content in zip(rows, contents, strict=True)
    )


def contents_of(messages: Sequence[Row], texts: Texts) -> list[str]:
    """The message of each of these rows of `messages`."""
    found_texts = texts(row["position"] for row in messages if row["again"] is None)
    return [found_texts[row["position"]] if row["again"] is None else row["again"] for row in messages]


def totals_of(row: Row) -> UsageTotals:
    """The columns of `TOTALS` as a value."""
    return value_of(UsageTotals, row, usage=Usage(*(row[name] for name in TOKENS)))
