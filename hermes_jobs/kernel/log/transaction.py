"""A log within one transaction that its caller began and commits or rolls back.

Imported streams get their due steps and budgets there, computed from their events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from hermes_jobs.errors import Corrupt, HermesJobsError, Rejected
from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.append import PreparedAppend, step_values
from hermes_jobs.kernel.log.budget_rows import charge
from hermes_jobs.kernel.log.codec import Codec, escaped
from hermes_jobs.kernel.log.database import Begin, Connection
from hermes_jobs.kernel.log.log import Append
from hermes_jobs.kernel.log.portable import StepLine
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.accounts import Charge
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import charges, due_steps, fold, initial_state
from hermes_jobs.kernel.turns.session import Session


class TransactionLog(SqlEventLog):
    """Reads the transaction's writes and appends to it. For one thread, while it is open."""

    def __init__(self, connection: Connection, log_id: str, codec: Codec) -> None:
        super().__init__(_OpenTransaction(connection), log_id, codec)
        self.connection = connection

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        return PreparedAppend(change, self._codec).execute(self.connection)


class _OpenTransaction:
    """The `Database` inside a transaction: one connection for everything."""

    poll_seconds = rung_poll_seconds = 0.0
    durable_always = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def subscribe(self, _on_notification: Callable[[], None]) -> bool:
        return False

    def write_lock(self) -> AbstractContextManager[Begin]:
        raise AssertionError("a transaction cannot begin another")

    def has_committed(self, _connection: Connection) -> bool:
        raise AssertionError("a transaction is committed by its owner")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        yield self._connection

    def snapshot(self) -> AbstractContextManager[Any]:
        raise AssertionError("a transaction is not a moment of its own")

    def change_counter(self) -> int:
        return 0

    def erase_deleted(self) -> bool:
        raise AssertionError("a transaction erases nothing")

    def translated(self, error: Exception) -> HermesJobsError | None:
        return None  # the transaction's owner translates it

    def close(self) -> None:
        """The transaction's owner closes it."""


DayOf = Callable[[str], str]
"""The day, YYYY-MM-DD, of a moment of the log: a response is charged to that day's account."""

_EVENTS_AT_ONCE = 1000


def rebuild_steps_and_budgets(
    log: TransactionLog,
    streams: Iterable[str],
    claims: Mapping[str, StepLine],
    day_of: DayOf,
    without_steps: Collection[str] = (),
) -> list[str]:
    """Write the due steps of these streams, and charge their events. Only the owners of steps are taken from
    the export; for those `without_steps` it has none. Returns the sessions among them that wait for others.

    Raises `Rejected` where the steps are not those that the export holds, `Corrupt` where an event cannot
    follow on those before.
    """
    rows: dict[str, dict[str, Any]] = {}
    waiting: list[str] = []
    for stream in streams:
        state = _with_budgets(log, stream, day_of)
        steps = due_steps(state)
        rows.update({step.id: step_values(step) for step in steps})
        if stream in without_steps:
            claims = {**claims, **{step.id: StepLine(step=step.id, stream=stream) for step in steps}}
        if isinstance(state, Session) and state.waits_for_others:
            waiting.append(stream)
    if rows.keys() != claims.keys():
        differing = ", ".join(sorted(rows.keys() ^ claims.keys())[:3])
        raise Rejected(
            f"The export's due steps do not follow from its events: {differing}.",
            kind="unreadable_export",
            hint="Nothing was imported. Run `hermes-jobs log events verify` where it was made.",
        )
    for line in claims.values():  # in the order in which they came
        owner = None if line.owner is None else escaped(line.owner)
        log.connection.execute(sql.INSERT_STEP, {**rows[line.step], "owner": owner, "fence": line.fence})
    return waiting


def _with_budgets(log: TransactionLog, stream: str, day_of: DayOf) -> StreamState:
    """The stream's state, after its events are charged to its accounts."""
    state, sums = initial_state(stream), dict[str, Charge]()
    for event, recorded_at in _events(log, stream):
        for part in charges(state, (event,), partial(day_of, recorded_at)):
            sums[part.account] = sums.get(part.account, Charge(account=part.account)) + part
        try:
            state = fold(state, (event,))
        except Exception as error:
            raise Corrupt(f"{stream}: {type(event).__name__} cannot follow on what was before.") from error
    charge(log.connection, tuple(sums.values()), ())
    return state


def _events(log: TransactionLog, stream: str) -> Iterator[tuple[Event, str]]:
    version = 0
    while news := log.read(stream, after=version, upto=version + _EVENTS_AT_ONCE):
        yield from ((recorded.event, recorded.recorded_at) for recorded in news)
        version = news[-1].version
