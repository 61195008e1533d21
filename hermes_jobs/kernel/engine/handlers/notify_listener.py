"""`listener.*`: notifies a listener of new events and records its cursor."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import cast

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.memory.events import MemoryEvent, WritesTold
from hermes_jobs.features.memory.rules import memory
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    Clock,
    Ids,
    Listener,
    ListenerError,
    MemoryWriteListener,
    StepInterrupted,
)
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.events import ListenerTold
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams import subscriptions
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StreamEvents, append
from hermes_jobs.kernel.streams.subscriptions import MAX_ATTEMPTS, Subscription, notification_failed
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step

logger = logging.getLogger(__name__)

NO_LISTENER = "this installation has no such listener"


class NotifyListener(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`; `listener` is the configured one of that kind, if any."""

    listener: Listener | None
    clock: Clock
    ids: Ids

    def run(self, state: Session, step: Step, cancel: Cancel) -> Decision:
        """Notify the listener of the session's new events; the decision moves its cursor."""
        return append(state.stream, *(self.outcome(state, due) for due in due_of(state, step)))

    def outcome(self, session: Session, due: Subscription) -> ListenerTold:
        """Notify the listener; the event says up to which version, and the error if it failed."""
        if self.listener is None or self.listener.name != due.name:
            failure = self.failure_event(due, due.cursor, NO_LISTENER)  # perhaps another worker has it
            return failure if failure.retry_at is not None else replace(failure, upto=session.version)
        try:
            self.listener.notify(session, due.cursor)
        except ListenerError as error:
            return self.failure_event(due, error.upto, error.message)
        return ListenerTold(listener=due.name, upto=session.version, attempt=due.attempt)

    def failure_event(self, due: Subscription, upto: int, message: str) -> ListenerTold:
        """Notified up to that version, with the time of the next attempt."""
        now, fraction = self.clock.now(), self.ids.fraction()
        return notification_failed(due, upto, message, now=now, fraction=fraction)


class NotifyMemoryProvider:
    """A `StepHandler` for a memory provider: it gets the memory's writes before the session's events.

    A write that fails is retried together with the session's events, and skipped when these are.
    """

    def __init__(self, listener: MemoryWriteListener | None, log: EventLog, clock: Clock, ids: Ids) -> None:
        self._listener = listener
        self._log = log
        self._states = StreamRepository(log)
        self._events = NotifyListener(listener, clock, ids)

    def run(self, state: Session, step: Step, cancel: Cancel) -> Decision:
        """Notify the provider; the decision moves its cursor."""
        changed = DecisionResult(
            writes=tuple(write for due in due_of(state, step) for write in self._notify(state, due, cancel))
        )
        return lambda load: changed

    def _notify(self, session: Session, due: Subscription, cancel: Cancel) -> Iterator[StreamEvents]:
        upto, error = 0, ""
        if self._listener is not None and self._listener.name == due.name:
            before = self._position(due.name)
            upto, error = self._notify_writes(self._listener, session, before, due, cancel)
            if upto > before:
                event = WritesTold(listener=due.name, upto=upto)
                yield StreamEvents(subscriptions.stream_of(due.name), (event,))
        if error:
            outcome = self._events.failure_event(due, due.cursor, error)
        else:
            outcome = self._events.outcome(session, due)
        yield StreamEvents(session.stream, (outcome,))

    def _notify_writes(
        self, listener: MemoryWriteListener, session: Session, upto: int, due: Subscription, cancel: Cancel
    ) -> tuple[int, str]:
        """The version of the last write that was accepted, and the error of the next; empty for none."""
        for recorded in self._log.read(memory.STREAM, after=upto):
            if cancel.reason is not None:
                raise StepInterrupted
            try:
                # The memory's stream has only memory events.
                listener.notify_write(session, cast(MemoryEvent, recorded.event))
            except ListenerError as failure:
                if due.attempt < MAX_ATTEMPTS:
                    return upto, failure.message
                logger.warning("%s: a write is left out: %s", due.name, failure.message)
            upto = recorded.version
        return upto, ""

    def _position(self, name: str) -> int:
        return cast(subscriptions.ListenerCursor, self._states.state(subscriptions.stream_of(name))).writes


def due_of(session: Session, step: Step) -> tuple[Subscription, ...]:
    """The subscriptions of that step that have a backlog."""
    kind = step.kind.partition(".")[2]
    return tuple(listener for listener in session.listeners if listener.kind == kind and listener.has_backlog)
