"""Verifies the log: recomputes every other table from the events and compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from hermes_jobs.errors import Corrupt, HermesJobsError, NewerSchema
from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.blobs import BlobStore, named_in
from hermes_jobs.kernel.log.budget_rows import to_charge
from hermes_jobs.kernel.log.codec import Codec, unescaped
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.export_log import all_keys, pages
from hermes_jobs.kernel.log.log import IMPORTING, OPAQUE, Head
from hermes_jobs.kernel.log.portable import Tombstones
from hermes_jobs.kernel.log.rows import AnyRow, StoredEvent, row_hash, to_head, to_step_row, to_stored_event
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.accounts import NOTHING, Amount, Charge
from hermes_jobs.kernel.streams.budgets import DAY
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import charges, due_steps, fold, initial_state, is_known
from hermes_jobs.kernel.turns.steps import Step

_QUEUE = sql.STEP.index("lane")
_UNKNOWN_DAY = "?"


class LogFinding(msgspec.Struct, frozen=True):
    """One contradiction, as a sentence; `stream` None where it concerns the whole log."""

    stream: str | None
    message: str


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The extent of a check, and its findings. `unread` are streams that only a newer hermes-jobs can fold.

    `opaque` are those of features that this installation lacks, or lacked when it imported them: their hashes
    are checked, their steps and budgets are not known.

    `num_blobs`: the contents of attachments. `num_forgotten`: the events whose texts were removed, each with
    the hash that the log records for it.
    """

    num_events: int
    num_streams: int
    num_steps: int
    num_forgotten: int = 0
    num_blobs: int = 0
    findings: tuple[LogFinding, ...]
    unread: tuple[str, ...]
    opaque: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


def verify(log: SqlEventLog, blobs: BlobStore | None = None) -> VerifyReport:
    """Check all stored data, in one snapshot, and the bytes in `blobs` that it names.

    Bad data is reported, never raised.

    Raises `LogUnavailable`, and `Corrupt` where the database itself cannot be read.
    """
    with log.snapshot() as connection:
        return _Verification(connection, log.codec, blobs).report()


class _Verification:
    """One pass over the tables, which collects the findings."""

    def __init__(self, connection: Connection, codec: Codec, blobs: BlobStore | None) -> None:
        self._connection = connection
        self._codec = codec
        self._blobs = blobs
        self._checked: set[str] = set()
        self._findings: list[LogFinding] = []
        self._unread: list[str] = []
        self._opaque: list[str] = []
        self._num_events = 0
        self._steps: dict[str, dict[str, AnyRow]] = {}
        self._accounts = _ExpectedBudgets()
        self._tombstones = Tombstones()
        self._num_forgotten = 0

    def report(self) -> VerifyReport:
        heads = {head.stream: head for head in map(to_head, self._all(sql.SELECT_EVERY_HEAD))}
        steps = self._all(sql.SELECT_EVERY_STEP)
        for row in steps:
            step = to_step_row(row).step
            self._steps.setdefault(step.stream, {})[step.id] = row
        self._tombstones = Tombstones.stored(self._connection)
        streams = set()
        for stream, rows in groupby(self._events(), key=lambda row: row.stream):
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
            num_forgotten=self._num_forgotten,
            num_blobs=len(self._checked),
            findings=tuple(self._findings),
            unread=tuple(self._unread),
            opaque=tuple(self._opaque),
        )

    def _all(self, statement: str) -> Sequence[AnyRow]:
        return self._connection.execute(statement).fetchall()

    def _events(self) -> Iterator[StoredEvent]:
        rows = pages(
            self._connection,
            sql.EVENTS_BY_STREAM_PAGE,
            {"stream": "", "version": 0},
            lambda row: {"stream": row[1], "version": row[2]},
        )
        return map(to_stored_event, rows)

    def _find(self, stream: str | None, message: str) -> None:
        self._findings.append(LogFinding(stream, message))

    def _check_stream(self, stream: str, rows: Iterable[StoredEvent], head: Head | None) -> None:
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
            computed_hash = row_hash(digest, row._asdict())
            if computed_hash != row.hash and self._tombstones.covers(stream, row.version, computed_hash):
                self._num_forgotten += 1
            elif computed_hash != row.hash:
                self._find(stream, f"Version {row.version} was changed, or the one before: its hash differs.")
            version, digest, position = row.version, row.hash, row.position
            self._check_blobs(row)
            folded.add(row)
        if head is None:
            self._find(stream, f"There are {version} versions, but no head.")
        elif (head.version, head.hash) != (version, digest):
            self._find(stream, f"The head says version {head.version}, the last event is version {version}.")
        elif head.min_build_level == IMPORTING:
            self._find(stream, "It is still coming in: run the same `hermes-jobs import` again.")
            return
        if folded.state is None or (head is not None and head.min_build_level == OPAQUE):
            self._opaque.append(stream)
        else:
            self._check_steps(stream, folded)

    def _check_blobs(self, row: StoredEvent) -> None:
        """Check the bytes that an event names; each content once."""
        for digest in named_in(row.data):
            if self._blobs is None or digest in self._checked:
                continue
            self._checked.add(digest)
            try:
                wrong = "" if self._blobs.get(digest) is not None else "it is missing."
            except Corrupt as error:
                wrong = str(error)
            if wrong:
                self._find(row.stream, f"Version {row.version} names the content {digest}: {wrong}")

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
        step, queue = to_step_row(row).step, row[_QUEUE]
        expected = msgspec.structs.replace(expected, operation=None, turn=None)
        if step != expected or queue != expected.queue:
            self._find(stream, f"Step {step.id} is {step} in {queue}; the events say {expected}.")

    def _check_positions(self) -> None:
        [(count, first, last)] = self._all(sql.SELECT_EXTENT)
        if count and (first, last) != (1, count):
            self._find(None, f"{count} events stand at positions {first} to {last}: some are missing.")

    def _check_keys(self) -> None:
        for key, stream, _ in all_keys(self._connection):
            if stream != key.stream:
                self._find(
                    key.stream,
                    f"The {key.scope} key {key.key!r} points at position {key.position}, "
                    "where no event of this stream stands.",
                )

    def _check_budgets(self) -> None:
        """Check the budgets, unless there are streams that this build cannot fold."""
        if self._unread or self._opaque or any(finding.stream is not None for finding in self._findings):
            return
        stored = [to_charge(unescaped(row[0]), row[1:]) for row in self._all(sql.SELECT_ACCOUNTS)]
        for contradiction in self._accounts.contradictions(stored):
            self._find(None, contradiction)


class _Fold:
    """A stream's events, decoded, folded and charged. Stops at the first that cannot be."""

    def __init__(self, stream: str, codec: Codec, accounts: _ExpectedBudgets) -> None:
        self._accounts = accounts
        self.is_newer = False
        self.failure = ""
        self._codec = codec
        self.state: StreamState | None = initial_state(stream) if is_known(stream) else None

    def add(self, row: StoredEvent) -> None:
        if self.state is None or self.is_newer or self.failure:
            return
        try:
            event = self._codec.decode(row.type, row.data, row.schema)
        except NewerSchema:
            self.is_newer = True
            return
        except HermesJobsError as error:
            self.failure = f"Version {row.version} cannot be read: {error}"
            return
        try:
            self._accounts.add(self.state, event)
            self.state = fold(self.state, (event,))
        except Exception as error:  # noqa: BLE001 - any exception here comes from the data
            self.failure = f"Version {row.version}, {row.type}, cannot follow on what was before: {error}"


class _ExpectedBudgets:
    """Adds up the charges of events. The day of a response without a reservation depends on its writer's
    time zone, so that such a sum is only checked over all days."""

    def __init__(self) -> None:
        self._sums: dict[str, Charge] = {}

    def add(self, before: StreamState, event: Event) -> None:
        """One more event; `before` is its stream's state without it."""
        for charge in charges(before, (event,), lambda: _UNKNOWN_DAY):
            self._sums[charge.account] = self._of(charge.account) + charge

    def contradictions(self, stored: Iterable[Charge]) -> Iterator[str]:
        """The stored sums that do not follow from the events, as sentences."""
        by_account = {charge.account: charge for charge in stored}
        undated = self._sums.pop(DAY + _UNKNOWN_DAY, Charge(account=DAY + _UNKNOWN_DAY))
        for account in sorted(by_account.keys() | self._sums.keys()):
            stands, expected = by_account.get(account, Charge(account=account)), self._of(account)
            is_open = account.startswith(DAY) and undated.spent != NOTHING
            if stands.reserved != expected.reserved or (stands.spent != expected.spent and not is_open):
                yield f"The account {account} says {_describe(stands)}; the events say {_describe(expected)}."
        if undated.spent != NOTHING:
            total = _spent(by_account.values())
            expected_total = _spent(self._sums.values()) + undated.spent
            if total != expected_total:
                yield f"The days' accounts say {total} spent in all; the events say {expected_total}."

    def _of(self, account: str) -> Charge:
        return self._sums.get(account, Charge(account=account))


def _spent(accounts: Iterable[Charge]) -> Amount:
    return sum((charge.spent for charge in accounts if charge.account.startswith(DAY)), NOTHING)


def _describe(charge: Charge) -> str:
    return f"{charge.spent} spent and {charge.reserved} reserved"
