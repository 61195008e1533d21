"""Every attempt at a model call, a member's call or a tool call as a row, and the model's requests.

A row opens with the start of the attempt (or with the wait for an approval) and ends with its outcome; a
call that is repeated with a user's answers continues in its row. A call
that ends before its start, by a denial or a cancel, has a row without a start.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, NamedTuple

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.models import ANSWERED, Outcome, StepKind
from hermes_jobs.system.struct_types import described

OPEN_ROW = "SELECT position FROM steps WHERE step = ? AND ended_at IS NULL ORDER BY position DESC LIMIT 1"


class Steps:
    """Tables `steps` and `calls`."""

    name: Final = "steps"
    tables: Final = """
        CREATE TABLE steps (
            position INTEGER PRIMARY KEY, turn TEXT NOT NULL, step TEXT NOT NULL, kind TEXT NOT NULL,
            attempt INTEGER NOT NULL, worker TEXT, started_at TEXT, ended_at TEXT, outcome TEXT NOT NULL,
            message TEXT NOT NULL DEFAULT '', finish_reason TEXT NOT NULL DEFAULT '', response INTEGER,
            member TEXT NOT NULL DEFAULT '', asks TEXT NOT NULL DEFAULT '',
            has_task INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX steps_by_turn ON steps (turn, position);
        CREATE INDEX steps_by_step ON steps (step, position);
        CREATE INDEX steps_waiting ON steps (turn) WHERE outcome = 'waiting';
        CREATE TABLE calls (
            call TEXT PRIMARY KEY, turn TEXT NOT NULL, step TEXT NOT NULL, asked TEXT NOT NULL,
            name TEXT NOT NULL, arguments TEXT NOT NULL
        ) WITHOUT ROWID;
    """
    event_types: Final = (
        *(e.ModelCallStarted, e.ModelReplied, e.ModelCallFailed, e.ToolStarted, e.ToolFinished),
        *(e.ToolInterrupted, e.ApprovalRequested, e.ApprovalGiven, e.ApprovalDenied, e.StepAbandoned),
        *(e.InputRequested, e.InputAnswered, e.ServerTaskBegun, e.ServerTaskPolled, e.AnswerRejected),
        *(e.OutcomeDiscarded, e.ReferenceStarted, e.ReferenceReplied, e.ReferenceFailed),
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        batch = _Batch(connection)
        for recorded in events:
            batch.take(recorded)
        batch.write()


class _Batch:
    """The usual attempts of one batch, written together; others change the tables directly.

    `_begun` are those that have not ended, by step, and `_asked` the calls without an attempt.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._attempts: list[list[str | int | None]] = []
        self._calls: list[tuple[str, ...]] = []
        self._begun: dict[str, list[str | int | None]] = {}
        self._unstarted: set[str] = set()

    def take(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        match event:
            case e.ModelCallStarted():
                self._begin(recorded, event.turn, event.step, "model_call", event.attempt)
            case e.ModelReplied() if event.step in self._begun:
                calls = _calls(event)
                self._calls += calls
                self._unstarted.update(call for call, *_ in calls)
                self._end(recorded, event.step, "ok", event.finish_reason, recorded.position)
            case e.ToolStarted() if event.call in self._unstarted:
                self._unstarted.remove(event.call)
                self._begin(recorded, event.turn, event.call, "tool_call", event.attempt)
            case e.ToolFinished() if event.call in self._begun and not event.rule and not event.refused:
                self._end(recorded, event.call, "ok" if event.ok else "error", "", None)
            case _:
                self.write()
                _take(self._connection, recorded)

    def write(self) -> None:
        """Write all pending rows."""
        self._connection.executemany(
            "INSERT INTO steps (position, turn, step, kind, attempt, worker, started_at, ended_at, outcome,"
            " finish_reason, response) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self._attempts,
        )
        _write_calls(self._connection, self._calls)
        for pending in (self._attempts, self._calls, self._begun, self._unstarted):
            pending.clear()

    def _begin(self, recorded: RecordedEvent, turn: str, step: str, kind: StepKind, attempt: int) -> None:
        started = (recorded.meta.worker, recorded.recorded_at)
        row = [recorded.position, turn, step, kind, attempt, *started, None, "running", "", None]
        self._attempts.append(row)
        self._begun[step] = row

    def _end(
        self, recorded: RecordedEvent, step: str, outcome: Outcome, finish_reason: str, response: int | None
    ) -> None:
        self._begun.pop(step)[-4:] = recorded.recorded_at, outcome, finish_reason, response


def _take(connection: Connection, recorded: RecordedEvent) -> None:  # noqa: PLR0912 - one case an event
    event = recorded.event
    match event:
        case e.ModelReplied():
            _write_calls(connection, _calls(event))
            _end_model_call(connection, recorded, event.step, "ok", "", event.finish_reason)
        case e.ModelCallFailed():
            outcome: Outcome = "interrupted" if event.kind == "cancelled" else "failed"
            message = f"{event.kind}: {event.message}"
            _end_model_call(connection, recorded, event.step, outcome, message, "")
        case e.AnswerRejected():
            text = f"does not fit the schema: {'; '.join(event.faults)}"
            connection.execute(
                "UPDATE steps SET message = ? WHERE step = ? AND outcome = 'ok'", (text, event.step)
            )
        case e.ReferenceStarted():
            _open_reference(connection, recorded, event, event.model)
        case e.ReferenceReplied():
            _end_model_call(connection, recorded, event.step, "ok", "", event.finish_reason)
        case e.ReferenceFailed():
            _end_reference(connection, recorded, event)
        case e.ToolStarted():
            _start_tool(connection, recorded, event)
        case e.ToolFinished():
            _end_tool(connection, recorded, event, outcome_of(event), event.rule)
        case e.ToolInterrupted():
            _end_tool(connection, recorded, event, "interrupted", event.reason)
        case e.ApprovalRequested():
            waits = _Attempt(event.turn, event.call, "tool_call", 1)
            _open(connection, recorded, waits, "waiting", event.rule)
        case e.ApprovalGiven():
            _approval_ended(connection, event.call, "approved", event.by)
        case e.ApprovalDenied():
            _approval_ended(connection, event.call, "denied", event.by)
        case e.InputRequested():
            _input_requested(connection, event)
        case e.InputAnswered():
            _input_answered(connection, event)
        case e.ServerTaskBegun() | e.ServerTaskPolled():
            _task_progress(connection, event)
        case e.StepAbandoned():
            _abandoned(connection, recorded, event)
        case e.OutcomeDiscarded():
            _discarded(connection, recorded, event)
        case _:
            pass


def outcome_of(event: e.ToolFinished) -> Outcome:
    """What became of the call."""
    if event.refused:
        return "denied"
    return "ok" if event.ok else "held" if event.rule else "error"


class _Attempt(NamedTuple):
    turn: str
    step: str
    kind: StepKind
    attempt: int


def _open(
    connection: Connection,
    recorded: RecordedEvent,
    attempt: _Attempt,
    outcome: Outcome = "running",
    message: str = "",
) -> None:
    is_running = outcome == "running"
    connection.execute(
        "INSERT INTO steps (position, turn, step, kind, attempt, worker, started_at, outcome, message)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            recorded.position,
            *attempt,
            recorded.meta.worker if is_running else None,
            recorded.recorded_at if is_running else None,
            outcome,
            message,
        ),
    )


def _open_row(connection: Connection, step: str) -> int | None:
    """The row of the attempt that has not ended."""
    row = connection.execute(OPEN_ROW, (step,)).fetchone()
    return int(row[0]) if row else None


def _calls(event: e.ModelReplied) -> list[tuple[str, ...]]:
    """The calls of a reply, by the ids under which they would run; a reply without plan has default ids."""
    ids = [plan.call for plan in event.plan] or [f"{event.step}-{at}" for at in range(len(event.tool_calls))]
    return [
        (call, event.turn, event.step, tool_call.id, tool_call.name, tool_call.arguments)
        for call, tool_call in zip(ids, event.tool_calls, strict=True)
    ]


def _write_calls(connection: Connection, calls: Sequence[tuple[str, ...]]) -> None:
    connection.executemany("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?)", calls)


def _end_model_call(
    connection: Connection,
    recorded: RecordedEvent,
    step: str,
    outcome: Outcome,
    message: str,
    finish_reason: str,
) -> None:
    connection.execute(
        f"UPDATE steps SET ended_at = ?, outcome = ?, message = ?, finish_reason = ?, response = ?"
        f" WHERE position = ({OPEN_ROW})",
        (recorded.recorded_at, outcome, message, finish_reason, recorded.position, step),
    )


def _open_reference(
    connection: Connection,
    recorded: RecordedEvent,
    event: e.ReferenceStarted | e.ReferenceFailed,
    member: str,
    outcome: Outcome = "running",
) -> None:
    attempt = _Attempt(event.turn, event.step, "reference", event.attempt)
    _open(connection, recorded, attempt, outcome)
    connection.execute("UPDATE steps SET member = ? WHERE position = ?", (member, recorded.position))


def _end_reference(connection: Connection, recorded: RecordedEvent, event: e.ReferenceFailed) -> None:
    """A member that was never called has a row without a start."""
    if _open_row(connection, event.step) is None:
        _open_reference(connection, recorded, event, event.member, "failed")
    outcome: Outcome = "interrupted" if event.kind == "cancelled" else "failed"
    message = f"{event.kind}: {event.message}"
    _end_model_call(connection, recorded, event.step, outcome, message, "")


def _start_tool(connection: Connection, recorded: RecordedEvent, event: e.ToolStarted) -> None:
    """A call that waited for a person continues in the row of that wait."""
    approved = _open_row(connection, event.call)
    if approved is None:
        _open(connection, recorded, _Attempt(event.turn, event.call, "tool_call", event.attempt))
        return
    connection.execute(
        "UPDATE steps SET started_at = ?, worker = ?, attempt = ?, outcome = 'running' WHERE position = ?",
        (recorded.recorded_at, recorded.meta.worker, event.attempt, approved),
    )


def _end_tool(
    connection: Connection,
    recorded: RecordedEvent,
    event: e.ToolFinished | e.ToolInterrupted,
    outcome: Outcome,
    message: str,
) -> None:
    row = _open_row(connection, event.call) or _last_abandoned(connection, event.call)
    if row is None:
        row = recorded.position
        attempt = _Attempt(event.turn, event.call, "tool_call", event.attempt)
        _open(connection, recorded, attempt, "approved")
    connection.execute(
        "UPDATE steps SET ended_at = ?, asks = '', outcome = iif(outcome = 'denied', outcome, ?),"
        " message = iif(? = '', message, ?) WHERE position = ?",
        (recorded.recorded_at, outcome, message, message, row),
    )


def _last_abandoned(connection: Connection, call: str) -> int | None:
    """The row of the last abandoned attempt, which is not repeated."""
    query = "SELECT position, outcome FROM steps WHERE step = ? ORDER BY position DESC LIMIT 1"
    row = connection.execute(query, (call,)).fetchone()
    return row[0] if row and row[1] == "abandoned" else None


def _approval_ended(connection: Connection, call: str, outcome: Outcome, by: str) -> None:
    connection.execute(
        "UPDATE steps SET outcome = ?, message = message || ? WHERE step = ? AND outcome = 'waiting'",
        (outcome, f" ({outcome} by {by})", call),
    )


def _input_requested(connection: Connection, event: e.InputRequested) -> None:
    text = f"{event.asker} asks: {' / '.join(request.message for request in event.requests)}"
    connection.execute(
        f"UPDATE steps SET outcome = 'waiting', message = ?, asks = ? WHERE position = ({OPEN_ROW})",
        (text, msgspec.json.encode(event).decode(), event.call),
    )


def _input_answered(connection: Connection, event: e.InputAnswered) -> None:
    """Remove the answered request; the last answer ends the wait."""
    row = connection.execute(
        f"SELECT asks FROM steps WHERE position = ({OPEN_ROW})", (event.call,)
    ).fetchone()
    if row is None or not row[0]:
        return
    request = msgspec.json.decode(row[0], type=described(e.InputRequested))
    remaining = request.without(event.key)
    asks = msgspec.json.encode(remaining).decode() if remaining else ""
    outcome: Outcome = "waiting" if remaining else "running" if request.live else "answered"
    connection.execute(
        f"UPDATE steps SET asks = ?, outcome = ?, message = message || ? WHERE position = ({OPEN_ROW})",
        (asks, outcome, f" ({ANSWERED[event.action]} by {event.by})", event.call),
    )


def _task_progress(connection: Connection, event: e.ServerTaskBegun | e.ServerTaskPolled) -> None:
    """Record the progress of the server's task."""
    text = event.message or ("a task of its server" if isinstance(event, e.ServerTaskBegun) else "")
    connection.execute(
        "UPDATE steps SET outcome = 'running', has_task = 1, message = iif(? = '', message, ?)"
        f" WHERE position = ({OPEN_ROW})",
        (text, text, event.call),
    )


def _abandoned(connection: Connection, recorded: RecordedEvent, event: e.StepAbandoned) -> None:
    """End the attempt, unless its worker only polled a server's task."""
    connection.execute(
        "UPDATE steps SET ended_at = ?, outcome = 'abandoned', message = ?, asks = ''"
        " WHERE position = ? AND NOT has_task AND (outcome = 'running' OR asks LIKE '%\"live\":true%')",
        (
            recorded.recorded_at,
            f"its worker {_abandon_reason(event.reason)}",
            _open_row(connection, event.step),
        ),
    )


def _abandon_reason(reason: e.AbandonReason) -> str:
    return "died" if reason == "died" else "was stopped"


def _discarded(connection: Connection, recorded: RecordedEvent, event: e.OutcomeDiscarded) -> None:
    """The newest attempt that was reclaimed from that worker; its response is charged all the same."""
    connection.execute(
        "UPDATE steps SET outcome = 'discarded', response = ? WHERE position ="
        " (SELECT max(position) FROM steps WHERE step = ? AND worker = ? AND outcome = 'abandoned')",
        (recorded.position if event.model else None, event.step, event.worker),
    )
