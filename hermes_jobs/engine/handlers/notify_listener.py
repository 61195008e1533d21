"""`listener.*`: notifies a listener of new events and appends how far that went."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import cast

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain import subscriptions
from hermes_jobs.domain.decision import Decision, DecisionResult, StreamEvents, append
from hermes_jobs.domain.events import ListenerTold, MemoryEvent, WritesTold
from hermes_jobs.domain.memory import memory
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.subscriptions import MAX_ATTEMPTS, Subscription, notification_failed
from hermes_jobs.engine.ports import (
    Cancel,
    Clock,
    Ids,
    Listener,
    ListenerError,
    MemoryWriteListener,
    StepInterrupted,
)
from hermes_jobs.engine.repository import StreamRepository
from hermes_jobs.eventlog.log import EventLog

logger = logging.getLogger(__name__)

GONE = "this installation has no such listener"


class NotifyListener(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`; `listener` is the configured one of that kind, if any."""

    listener: Listener | None
    clock: Clock
    ids: Ids

    def run(self, state: Session, step: Step, cancel: Cancel) -> Decision:
        """Notify the listener of the session's new events; the decision says how far that went."""
        return append(state.stream, *(self.told(state, due) for due in due_of(state, step)))

    def told(self, session: Session, due: Subscription) -> ListenerTold:
        """What came of telling the listener."""
        if self.listener is None or self.listener.name != due.name:
            gone = self.failure_event(due, due.cursor, GONE)  # perhaps another worker has it
            return gone if gone.retry_at is not None else replace(gone, upto=session.version)
        try:
            self.listener.hear(session, due.cursor)
        except ListenerError as error:
            return self.failure_event(due, error.upto, error.message)
        return ListenerTold(listener=due.name, upto=session.version, attempt=due.attempt)

    def failure_event(self, due: Subscription, upto: int, message: str) -> ListenerTold:
        """It was told up to that version, and when the rest is tried again."""
        now, fraction = self.clock.now(), self.ids.fraction()
        return notification_failed(due, upto, message, now=now, fraction=fraction)


class NotifyMemoryProvider:
    """A `StepHandler` for a memory provider: it gets the memory's writes before the session's events.

    A write that fails is retried with the session's events, and skipped when they would be.
    """

    def __init__(self, listener: MemoryWriteListener | None, log: EventLog, clock: Clock, ids: Ids) -> None:
        self._listener = listener
        self._log = log
        self._states = StreamRepository(log)
        self._facts = NotifyListener(listener, clock, ids)

    def run(self, state: Session, step: Step, cancel: Cancel) -> Decision:
        """Notify the provider; the decision says how far that went."""
        changed = DecisionResult(
            writes=tuple(write for due in due_of(state, step) for write in self._notify(state, due, cancel))
        )
        return lambda load: changed

    def _notify(self, session: Session, due: Subscription, cancel: Cancel) -> Iterator[StreamEvents]:
        heard, problem = 0, ""
        if self._listener is not None and self._listener.name == due.name:
            before = self._position(due.name)
            heard, problem = self._tell_writes(self._listener, session, before, due, cancel)
            if heard > before:
                event = WritesTold(listener=due.name, upto=heard)
                yield StreamEvents(subscriptions.stream_of(due.name), (event,))
        text = (
            self._facts.failure_event(due, due.cursor, problem) if problem else self._facts.told(session, due)
        )
        yield StreamEvents(session.stream, (text,))

    def _tell_writes(
        self, listener: MemoryWriteListener, session: Session, heard: int, due: Subscription, cancel: Cancel
    ) -> tuple[int, str]:
        """Up to which write it was told by now, and what went wrong with the next."""
        for recorded in self._log.read(memory.STREAM, after=heard):
            if cancel.reason is not None:
                raise StepInterrupted
            try:
                # The memory's stream holds nothing but the memory's events.
                listener.hear_write(session, cast(MemoryEvent, recorded.event))
            except ListenerError as error:
                if due.attempt < MAX_ATTEMPTS:
                    return heard, error.message
                logger.warning("%s: a write is left out: %s", due.name, error.message)
            heard = recorded.version
        return heard, ""

    def _position(self, name: str) -> int:
        return cast(subscriptions.ListenerCursor, self._states.state(subscriptions.stream_of(name))).writes


def due_of(session: Session, step: Step) -> tuple[Subscription, ...]:
    """The subscriptions of that step that have a backlog."""
    kind = step.kind.partition(".")[2]
    return tuple(each for each in session.listeners if each.kind == kind and each.has_backlog)
