"""Handling commands: decide on the state, fold, append the events with the due steps, dispatch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Conflict, Rejected, StepLost
from hermes_jobs.kernel.engine.ports import AppendHook, Dispatcher, FileSync
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.events import Event, SessionEvent
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, EventLog, StepGuard, StreamWrite
from hermes_jobs.kernel.streams import delegation
from hermes_jobs.kernel.streams.accounts import Charge, Limit
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, LargeResult, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import charges, due_steps
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.loop_guard import with_warning
from hermes_jobs.kernel.turns.rounds import repeats_before
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.system.clock import Clock
from hermes_jobs.text.moments import iso

CONFLICTS_OF_DOUBT = 3
LOCKS = 64
"""Locks shared by the streams on which the threads of a process wait for each other."""


class _StreamChange(msgspec.Struct, frozen=True):
    """The change of one stream: its state before and after the events."""

    before: StreamState
    events: tuple[Event, ...]
    after: StreamState


class CommandHandler:
    """The one place where streams are written. `worker` is the author in the events' metadata."""

    def __init__(  # noqa: PLR0913 - the ports it needs
        self,
        log: EventLog,
        worker: str,
        clock: Clock,
        dispatcher: Dispatcher,
        repository: StreamRepository,
        *,
        follow: FileSync | None = None,
        today: Callable[[], str],
        append_hook: AppendHook | None = None,
    ) -> None:
        """`today` is the day to which a response without a reservation is charged."""
        self.worker = worker
        self._today = today
        self._log = log
        self._clock = clock
        self._dispatcher = dispatcher
        self._repository = repository
        self._follow = follow
        self._append_hook = append_hook
        self._turns = [threading.Lock() for _ in range(LOCKS)]

    def handle(
        self,
        stream: str,
        command: c.SessionCommand,
        *,
        guard: StepGuard | None = None,
        keys: tuple[UniqueKey, ...] = (),
        limits: tuple[Limit, ...] = (),
        durable: bool = True,
    ) -> Session:
        """Decide and append, again after each conflict; returns the session after it.

        Raises `Rejected`, `StepLost`, `KeyTaken`, `OverBudget`, `LogUnavailable`.
        """
        # A step's events are decided on the cached session: the append fails where that is stale.
        session = self._repository.cached(stream) if guard is not None else None
        cache_reset = _CacheReset(self._repository)
        while True:
            fresh = session is None
            session = session or self._repository.load(stream)
            load = _ReadSet(self._repository, session)
            try:
                decided, changed = _answered(command, session, load)
                events = decide(decided, session)
                if not events and guard is None:
                    return session
                begun = (
                    delegation.first_texts(decided, session, load)
                    if isinstance(decided, c.StartChildren)
                    else ()
                )
                all_writes = with_reactions([StreamEvents(stream, events), *begun, *changed.writes], load)
                written = load.writes(all_writes)
                self._append(
                    written,
                    self._meta(session, guard, command),
                    guard=guard,
                    keys=(*keys, *changed.keys),
                    results=(*_large_result(decided), *changed.large_results, *all_writes.large_results),
                    limits=limits,
                    durable=durable,
                )
            except Conflict:
                session = None
                cache_reset.after_conflict((stream, *load.streams))
            except StepLost:
                if fresh:
                    raise
                session = None
            else:
                own = (change.after for change in written if change.before.stream == stream)
                return cast(Session, next(own, session))

    def apply(
        self,
        change: Decision,
        cause: str,
        *,
        guard: StepGuard | None = None,
        limits: tuple[Limit, ...] = (),
        durable: bool = True,
        turns_on: str = "",
        by: str = "",
    ) -> DecisionResult:
        """Decide and append, again after each conflict. `cause` and `by` go into the events' metadata.
        Threads of this process write to the stream `turns_on` one after another, instead of running into
        conflicts.

        Raises `Rejected`, `StepLost`, `KeyTaken`, `OverBudget`, `LogUnavailable`.
        """
        with self._turns[hash(turns_on) % len(self._turns)] if turns_on else nullcontext():
            return self._applied(change, cause, guard, limits, durable=durable, by=by)

    def _applied(
        self,
        change: Decision,
        cause: str,
        guard: StepGuard | None,
        limits: tuple[Limit, ...],
        *,
        durable: bool,
        by: str,
    ) -> DecisionResult:
        cache_reset = _CacheReset(self._repository)
        while True:
            load = _ReadSet(self._repository)
            changed = change(load)
            if not changed.writes and guard is None:
                return changed
            meta = EventMeta(worker=self.worker, causation=cause, by=by)
            try:
                self._append(
                    load.writes(changed),
                    meta,
                    guard=guard,
                    keys=changed.keys,
                    results=changed.large_results,
                    limits=limits,
                    durable=durable,
                )
            except Conflict:
                cache_reset.after_conflict(load.streams)
                continue
            return changed

    def apply_guard(self, guard: StepGuard) -> None:
        """Claim or release a step without an event. Raises `StepLost`, `LogUnavailable`."""
        self._append((), EventMeta(worker=self.worker, causation=guard.step), guard=guard, durable=False)

    def append_event(self, stream: str, event: SessionEvent, key: UniqueKey) -> None:
        """Append an event that depends on no state, once. Raises `KeyTaken`, `LogUnavailable`."""
        cache_reset = _CacheReset(self._repository)
        while True:
            session = self._repository.load(stream)
            write = _StreamChange(session, (event,), self._repository.fold(session, (event,)))
            try:
                self._append([write], self._meta(session, None, None), keys=(key,))
            except Conflict:
                cache_reset.after_conflict([stream])
                continue
            return

    def _append(
        self,
        writes: Iterable[_StreamChange],
        meta: EventMeta,
        *,
        guard: StepGuard | None = None,
        keys: tuple[UniqueKey, ...] = (),
        results: tuple[LargeResult, ...] = (),
        limits: tuple[Limit, ...] = (),
        durable: bool = True,
    ) -> None:
        written = [write for write in writes if write.events]
        stored = [_stored(write) for write in written]
        now = self._clock.now()
        self._log.append(
            Append(
                meta=meta,
                recorded_at=iso(now),
                writes=tuple(stored),
                guard=guard,
                keys=keys,
                results=results,
                charges=self._charges(written),
                limits=limits,
                durable=durable,
            )
        )
        for write in written:
            self._repository.put(write.after)
        ready = [step for write in stored for step in write.due if step.not_before <= now]
        if ready:
            self._dispatcher.dispatch(ready)
        others = [write.after.stream for write in written if not isinstance(write.after, Session)]
        if others and self._follow is not None:
            self._follow(others)
        if self._append_hook is not None:
            for write in written:
                self._append_hook(write.before, write.events, write.after)

    def _charges(self, writes: Iterable[_StreamChange]) -> tuple[Charge, ...]:
        return tuple(
            charge for write in writes for charge in charges(write.before, write.events, self._today)
        )

    def _meta(self, session: Session, guard: StepGuard | None, cause: c.SessionCommand | None) -> EventMeta:
        turn = getattr(cause, "turn", None) or (session.current.id if session.current else None)
        place = session.delegation_of(turn)
        turn = place.payers[0].turn if place is not None else turn
        return EventMeta(
            worker=self.worker,
            causation=guard.step if guard else type(cause).__name__ if cause else None,
            correlation=turn,
        )


class _CacheReset:
    """Drops cached states after repeated conflicts.

    Usually another process was faster, and loading again reads its events. But a log may have lost its newest
    events, if its server crashed or was restored: then the cached state is ahead of the log.
    """

    def __init__(self, repository: StreamRepository) -> None:
        self._repository = repository
        self._conflicts = 0

    def after_conflict(self, streams: Iterable[str]) -> None:
        """Drop the streams from the cache after every third conflict."""
        self._conflicts += 1
        if self._conflicts % CONFLICTS_OF_DOUBT == 0:
            for stream in streams:
                self._repository.forget(stream)


class _ReadSet:
    """The `StateLoader` of one decision: the append expects the versions that it read."""

    def __init__(self, repository: StreamRepository, session: Session | None = None) -> None:
        """`session`: the state of its stream, if it is already loaded."""
        self._repository = repository
        self._read: dict[str, StreamState] = {} if session is None else {session.stream: session}

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that were loaded."""
        return tuple(self._read)

    def __call__(self, stream: str) -> Any:
        if stream not in self._read:
            self._read[stream] = self._repository.state(stream)
        return self._read[stream]

    def writes(self, changed: DecisionResult) -> list[_StreamChange]:
        """The decision's writes, each with the state that it was decided on."""
        changes = []
        for write in changed.writes:
            before = self(write.stream)
            changes.append(_StreamChange(before, write.events, self._repository.fold(before, write.events)))
        return changes


def _answered(
    command: c.SessionCommand, session: Session, load: _ReadSet
) -> tuple[c.SessionCommand, DecisionResult]:
    """The command with the answer of its decision, where it has one."""
    if isinstance(command, c.FinishModelCall | c.FinishReference) and command.change is not None:
        return command, command.change(load)
    if not isinstance(command, c.FinishToolCall | c.FinishFlush) or command.change is None:
        return command, DecisionResult()
    try:
        changed = command.change(load)
        ok = not changed.failed
    except Rejected as refused:
        changed, ok = DecisionResult(answer=f"Error: {refused.for_model}"), False
    answer = changed.answer
    if isinstance(command, c.FinishFlush):
        return replace(command, saved=answer), changed
    call = session.current.call(command.step) if session.current else None
    if session.current is not None and call is not None:
        answer = with_warning(repeats_before(session.current, call.id), call.id, call.request, answer)
    outcome = replace(command.outcome, content=answer, ok=ok)
    if rule := changed.refused or changed.waits:
        outcome = replace(outcome, refused=bool(changed.refused), rule=rule)
    return replace(command, outcome=outcome), changed


def _stored(write: _StreamChange) -> StreamWrite:
    """The events with the steps that they end and those that they make due."""
    before, due = set(due_steps(write.before)), due_steps(write.after)
    still = {step.id for step in due}
    return StreamWrite(
        stream=write.before.stream,
        events=write.events,
        expected=write.before.version,
        due=tuple(step for step in due if step not in before),
        dropped=tuple(sorted(step.id for step in before if step.id not in still)),
    )


def _large_result(cause: c.SessionCommand) -> tuple[LargeResult, ...]:
    """The large result that is stored in the log's database with its outcome."""
    if isinstance(cause, c.FinishToolCall) and cause.large_result is not None:
        return (LargeResult(call=cause.outcome.call, content=cause.large_result),)
    return ()
