"""`listener.memory`: a memory provider is notified of what happened."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, cast

from hermes_jobs.features.memory.events import MemoryEvent
from hermes_jobs.features.memory.rules import memory
from hermes_jobs.kernel.engine.handlers.notify_listener import NotifyListener, due_of
from hermes_jobs.kernel.engine.ports import Cancel, Listener, ListenerError, StepInterrupted
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.events import WritesTold
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams import subscriptions
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StreamEvents
from hermes_jobs.kernel.streams.subscriptions import MAX_ATTEMPTS, Subscription
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.ports import StepHandler

logger = logging.getLogger(__name__)


class MemoryWriteListener(Listener, Protocol):
    """A listener that is also notified of writes to the memory."""

    def notify_write(self, session: Session, write: MemoryEvent) -> None:
        """Handle a write to the memory, as part of that session. Raises `ListenerError`."""


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


def handlers(application: Application) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    listener = application.providers.listener
    notify = NotifyMemoryProvider(listener, application.log, application.clock, application.ids)
    return {"listener.memory": notify}
