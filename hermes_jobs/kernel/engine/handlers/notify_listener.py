"""`listener.*`: notifies a listener of new events and records its cursor."""

from __future__ import annotations

import logging

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import Cancel, Listener, ListenerError
from hermes_jobs.kernel.events import ListenerTold
from hermes_jobs.kernel.streams.decision import Decision, append
from hermes_jobs.kernel.streams.subscriptions import Subscription, notification_failed
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids

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


def due_of(session: Session, step: Step) -> tuple[Subscription, ...]:
    """The subscriptions of that step that have a backlog."""
    kind = step.kind.partition(".")[2]
    return tuple(listener for listener in session.listeners if listener.kind == kind and listener.has_backlog)
