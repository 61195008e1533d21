"""Is the log what was written? Recomputes from the events whatever else the tables say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any, cast

import msgspec
from sqlalchemy import Connection, Row, func, select

from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.streams import StreamState, due_steps, fold, initial_state
from hermes_jobs.errors import Corrupt, HermesJobsError, NewerSchema
from hermes_jobs.eventlog import schema as t
from hermes_jobs.eventlog.budget_rows import to_charge
from hermes_jobs.eventlog.codec import Codec
from hermes_jobs.eventlog.log import IMPORTING, Head
from hermes_jobs.eventlog.rows import row_hash
from hermes_jobs.eventlog.sql import SqlEventLog
from hermes_jobs.eventlog.verify_budgets import ExpectedBudgets

AnyRow = Row[Any]

_ROWS_AT_ONCE = 1000


class LogFinding(msgspec.Struct, frozen=True):
    """One contradiction, as a sentence; `stream` null where it concerns the whole log."""

    stream: str | None
    message: str


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found. `unread` are streams that only a newer hermes-jobs can fold."""

    num_events: int
    num_streams: int
    num_steps: int
    findings: tuple[LogFinding, ...]
    unread: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(log: SqlEventLog) -> VerifyReport:
    """Look at everything that is stored, at one moment. Bad data is reported, never raised.

    Raises `LogUnavailable`, and `Corrupt` where the database itself cannot be read.
    """
    with log.snapshot() as connection:
        return _Verification(connection, log.codec).report()


class _Verification:
    """One pass over the tables; the findings gather in it."""

    def __init__(self, connection: Connection, codec: Codec) -> None:
        self._connection = connection
        self._codec = codec
        self._findings: list[LogFinding] = []
        self._unread: list[str] = []
        self._num_events = 0
        self._steps: dict[str, dict[str, AnyRow]] = {}
        self._accounts = ExpectedBudgets()

    def report(self) -> VerifyReport:
        heads = {row.stream: _head(row) for row in self._rows(select(t.streams))}
        steps = list(self._rows(select(t.steps)))
        for row in steps:
            self._steps.setdefault(row.stream, {})[row.id] = row
        streams = set()
        ordered = select(t.events).order_by(t.events.c.stream, t.events.c.version)
        for stream, rows in groupby(self._rows(ordered), key=lambda row: cast(str, row.stream)):
            streams.add(stream)
            self._check_stream(stream, rows, heads.get(stream))
        for stream in heads.keys() - streams:
            self._find(stream, f"The head says version {heads[stream].version}, but there are no events.")
        for stream in self._steps.keys() - streams:
            self._find(stream, f"{len(self._steps[stream])} steps are due in a stream without events.")
        self._check_positions()
        self._check_keys()
        self._check_budgets()
        return VerifyReport(
            num_events=self._num_events,
            num_streams=len(streams),
            num_steps=len(steps),
            findings=tuple(self._findings),
            unread=tuple(self._unread),
        )

    def _rows(self, statement: Any) -> Iterator[AnyRow]:
        return iter(self._connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}))

    def _find(self, stream: str | None, message: str) -> None:
        self._findings.append(LogFinding(stream, message))

    def _check_stream(self, stream: str, rows: Iterable[AnyRow], head: Head | None) -> None:
        version, digest, position = 0, "", 0
        folded = _Fold(stream, self._codec, self._accounts)
        for row in rows:
            self._num_events += 1
            if row.version != version + 1:
                self._find(stream, f"Version {row.version} follows on version {version}.")
            if row.position <= position:
                self._find(
                    stream, f"Version {row.version} stands before version {version}: position {row.position}."
                )
            if row.hash != row_hash(digest, row._asdict()):
                self._find(stream, f"Version {row.version} was changed, or the one before: its hash differs.")
            version, digest, position = row.version, row.hash, row.position
            folded.add(row)
        if head is None:
            self._find(stream, f"There are {version} versions, but no head.")
        elif (head.version, head.hash) != (version, digest):
            self._find(stream, f"The head says version {head.version}, the last event is version {version}.")
        elif head.min_build_level == IMPORTING:
            self._find(stream, "It is still coming in: run the same `hermes-jobs import` again.")
            return
        self._check_steps(stream, folded)

    def _check_steps(self, stream: str, folded: _Fold) -> None:
        if folded.is_newer:
            self._unread.append(stream)
            return
        if folded.failure:
            self._find(stream, folded.failure)
        if folded.failure or folded.state is None:
            return
        stored = self._steps.get(stream, {})
        expected = {step.id: step for step in due_steps(folded.state)}
        for step_id in sorted(expected.keys() - stored.keys()):
            self._find(stream, f"Step {step_id} follows from the events, but is not due.")
        for step_id in sorted(stored.keys() - expected.keys()):
            self._find(stream, f"Step {step_id} is due, but does not follow from the events.")
        for step_id in sorted(stored.keys() & expected.keys()):
            self._check_step(stream, stored[step_id], expected[step_id])

    def _check_step(self, stream: str, row: AnyRow, expected: Step) -> None:
        step = Step(
            id=row.id, stream=row.stream, kind=row.kind, attempt=row.attempt, not_before=row.not_before
        )
        if step != expected or row.lane != expected.lane:
            self._find(stream, f"Step {step.id} is {step} in {row.lane}; the events say {expected}.")

    def _check_positions(self) -> None:
        first, last = func.min(t.events.c.position), func.max(t.events.c.position)
        row = self._connection.execute(select(func.count(), first, last).select_from(t.events)).one()
        if row[0] and (row[1], row[2]) != (1, row[0]):
            self._find(None, f"{row[0]} events stand at positions {row[1]} to {row[2]}: some are missing.")

    def _check_keys(self) -> None:
        event = t.events.alias("event")
        at_position = t.keys.outerjoin(event, event.c.position == t.keys.c.position)
        keys = select(t.keys, event.c.stream.label("found")).select_from(at_position)
        for row in self._rows(keys):
            if row.found != row.stream:
                self._find(
                    row.stream,
                    f"The {row.scope} key {row.key!r} points at position {row.position}, "
                    "where no event of this stream stands.",
                )

    def _check_budgets(self) -> None:
        """What only a newer hermes-jobs can fold, or nobody, cannot be added up either."""
        if self._unread or any(finding.stream is not None for finding in self._findings):
            return
        stored = [to_charge(row.account, row[1:]) for row in self._rows(select(t.budgets))]
        for contradiction in self._accounts.contradictions(stored):
            self._find(None, contradiction)


def _head(row: AnyRow) -> Head:
    return Head(stream=row.stream, version=row.version, hash=row.hash, min_build_level=row.reader)


class _Fold:
    """A stream's events, decoded, folded and charged. Stops at the first that cannot be."""

    def __init__(self, stream: str, codec: Codec, accounts: ExpectedBudgets) -> None:
        self._accounts = accounts
        self.is_newer = False
        self.failure = ""
        self._codec = codec
        self.state: StreamState | None = None
        with suppress(Corrupt):  # a kind of stream that this build does not know: chained, but not folded
            self.state = initial_state(stream)

    def add(self, row: AnyRow) -> None:
        if self.is_newer or self.failure:
            return
        try:
            event = self._codec.decode(row.type, row.data, row.schema)
        except NewerSchema:
            self.is_newer = True
            return
        except HermesJobsError as error:
            self.failure = f"Version {row.version} cannot be read: {error}"
            return
        if self.state is None:
            return
        try:
            self._accounts.add(self.state, event)
            self.state = fold(self.state, (event,))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is in the data
            self.failure = f"Version {row.version}, {row.type}, cannot follow on what was before: {error}"
