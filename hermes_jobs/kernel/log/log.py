"""The port of the event log, and the values that cross it.

One append changes everything that belongs together in one transaction: events of one or several streams,
their heads, the due steps that follow, the claim or release of a step, keys and large results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.streams.accounts import Charge, Limit
from hermes_jobs.kernel.streams.decision import LargeResult, UniqueKey
from hermes_jobs.kernel.turns.steps import Queue, Step

IMPORTING = 2**31 - 1
"""The level of a partly imported stream. No build has it, so that no process reads the stream yet."""

OPAQUE = IMPORTING - 1
"""The level of a stream that was imported without the feature it belongs to: its due steps and budgets are
not known, and nobody was asked whether it may hold here. An import where the feature is installed asks."""

PROBE_WORKER = ""
"""An id without a worker: its heartbeat changes no row, and fails if the log cannot be written."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A stream's end. `min_build_level` is the build level (`event_types.READS_UP_TO`) that it needs."""

    stream: str
    version: int
    hash: str
    min_build_level: int


class StepRow(msgspec.Struct, frozen=True, kw_only=True):
    """A due step and its claim: `owner` is None while unclaimed. `fence` changes with every claim."""

    step: Step
    owner: str | None
    fence: int


class KeyRow(msgspec.Struct, frozen=True, kw_only=True):
    """The first use of a key: the position of its event, and the digest of its request."""

    scope: str
    key: str
    stream: str
    position: int
    digest: str


class StepGuard(msgspec.Struct, frozen=True, kw_only=True):
    """The condition on a step's row, and the change to the row.

    `claim`: it is unclaimed; afterwards (`owner`, `fence`) hold it.
    `finish`: (`owner`, `fence`) hold it; afterwards it is unclaimed (and `StreamWrite` drops or renews it).
    Otherwise the append fails with `StepLost` and has no effect.
    """

    action: Literal["claim", "finish"]
    step: str
    owner: str
    fence: int


class StreamWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Events for one stream. `expected` is its version before them (0: it does not exist); None for any.

    `dropped` are ids of steps to delete, `due` steps to insert, or to renew (owner cleared) where the id
    exists.
    """

    stream: str
    events: tuple[Event, ...]
    expected: int | None
    due: tuple[Step, ...] = ()
    dropped: tuple[str, ...] = ()


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one decision changes, atomically.

    `limits` hold for those of their accounts that `charges` name.
    `durable`: on disk before the append returns. Without it a crash of the machine (not of the process)
    may lose it, together with everything after it.
    """

    meta: EventMeta
    recorded_at: str
    writes: tuple[StreamWrite, ...] = ()
    guard: StepGuard | None = None
    keys: tuple[UniqueKey, ...] = ()
    results: tuple[LargeResult, ...] = ()
    charges: tuple[Charge, ...] = ()
    limits: tuple[Limit, ...] = ()
    durable: bool = True


class WorkerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process. `beats` grows while it runs; `locks` names the lock folder of its host.

    `queues` are the queues it consumes; `name` is shown to people; `build_level` is the level of its build.
    """

    id: str
    name: str
    locks: str
    queues: tuple[str, ...]
    beats: int
    build_level: int


class EventLog(Protocol):
    """Append-only streams with their due work. Safe for many threads and processes.

    Every method raises `LogUnavailable` where the database cannot be reached, is full or read-only, and
    `NewerSchema` where it was made by a newer hermes-jobs.
    """

    @property
    def log_id(self) -> str:
        """The log's unique id, created with it."""

    @property
    def is_local(self) -> bool:
        """Whether all processes that use it are of one host."""

    @property
    def forgotten(self) -> int:
        """The position at which texts were last removed from events, as of the last `read`; 0 for never.

        States folded before that contain removed texts: fold them again.
        """

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        """Write the change; the events as recorded, in order.

        Raises, each leaving the log as it was, in this order where several hold: `Corrupt` (an event type
        that is not declared), `ValueError` (keys but no event, or a key twice), `NewerSchema` (the stream
        needs a newer build), `Conflict` (version), `KeyTaken`, `StepLost` (guard), `OverBudget`.
        """

    def head(self, stream: str) -> Head | None:
        """The stream's end; None where it does not exist."""

    def read(self, stream: str, after: int = 0, upto: int | None = None) -> Sequence[RecordedEvent]:
        """The stream's events with `after < version <= upto`, in order.

        Raises `NewerSchema` where the stream's head asks for a newer build, whatever the range holds, and
        `Corrupt` where the events end before the head says.
        """

    def tail(
        self, after: int = 0, limit: int = 1000, *, stream: str | None = None
    ) -> Sequence[RecordedEvent]:
        """At most `limit` events of all streams (or one) with `position > after`, in order.

        Ends before an event that this build cannot read; raises `NewerSchema` where that is the first.
        """

    def at(self, positions: Iterable[int]) -> Sequence[RecordedEvent]:
        """The events at these positions, in any order; none where there is none. Raises `NewerSchema`."""

    def last_position(self) -> int:
        """The newest event's position, 0 for an empty log."""

    def wait(self, after: int, seconds: float) -> bool:
        """Block until an event follows that position, or `seconds` have passed; whether one follows."""

    def wait_for_others(self, seconds: float) -> bool:
        """Block until another process says that it has written, or `seconds` have passed; whether one did,
        also before, since the last such wait. Not all that write say so."""

    def streams(self, prefix: str = "") -> Sequence[Head]:
        """The heads of all streams whose name begins so, by name."""

    def step(self, step_id: str) -> StepRow | None:
        """The due step with that id."""

    def steps(self, stream: str | None = None) -> Sequence[StepRow]:
        """All due steps (of a stream), claimed or not, first come first; a renewed one keeps its place."""

    def claimed_by_others(self, worker: str) -> Sequence[StepRow]:
        """The due steps that other workers have claimed, first come first."""

    def due(
        self, now: float, *, stream: str | None = None, queue: Queue | None = None, limit: int = 1000
    ) -> Sequence[StepRow]:
        """Unclaimed steps whose time has come, in streams that this build can read; of one stream or queue.

        In the order of `not_before`, then first come first.
        """

    def next_due_at(self, *, stream: str | None = None, queue: Queue | None = None) -> float | None:
        """The earliest `not_before` among the steps that `due` gives, now or later; None for none."""

    def key(self, scope: str, key: str) -> KeyRow | None:
        """The first use of a key."""

    def account(self, account: str) -> Charge:
        """What is currently spent and reserved on an account."""

    def result(self, call: str) -> str | None:
        """A large result, whole."""

    def register(self, worker: WorkerRow) -> None:
        """Register a process, or renew its row."""

    def heartbeat(self, worker: str) -> bool:
        """Increment a worker's heartbeat; false if it is not registered (it was declared dead)."""

    def publish(self, worker: str, status: str) -> None:
        """Store what a registered process says of itself, a JSON text without secrets."""

    def statuses(self) -> Mapping[str, str]:
        """The self-descriptions of registered processes, by id; processes without one are left out."""

    def unregister(self, worker: str) -> None:
        """Remove a process from the workers."""

    def evict(self, worker: WorkerRow) -> bool:
        """Remove the process whose row still equals `worker`; false where it is missing or was renewed.

        From then on `heartbeat` returns false for that process.
        """

    def workers(self) -> Sequence[WorkerRow]:
        """All registered processes."""

    def close(self) -> None:
        """Release connections. The log is not used after."""
