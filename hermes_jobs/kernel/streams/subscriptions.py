"""Listeners: parts of the application that are notified of session events, from the log.

A listener is an external memory (`memory:NAME`) or a context engine (`context:NAME`). A turn's first event
records the listeners. From then on each has a cursor in the session's stream: the version up to which it was
notified. While there are relevant events after the cursor, one step is due that notifies the listener and
moves the cursor. So delivery is at least once, in order, also when processes die; a failing event is retried,
and finally skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events import ListenerEvent

PREFIX = "listener-"
NEWS = (
    e.TurnCompleted,
    e.TurnFailed,
    e.TurnCancelled,
    e.ContextCompressed,
    e.ReviewCompleted,
    e.SessionEnded,
    e.ChildEnded,
)
"""Events that make the step due. Events between two of them are sent with the second one."""

MAX_ATTEMPTS = 8
"""Attempts at one event after which it is skipped: with these waits, after about forty minutes."""
FIRST_WAIT = 10.0
JITTER = 0.2


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A session listener's cursor: notified up to version `cursor`; `latest` is the newest relevant version.

    `attempt` and `retry_at` are those of the next event.
    """

    name: str
    cursor: int
    latest: int = 0
    attempt: int = 1
    retry_at: float = 0.0

    @property
    def kind(self) -> str:
        """`memory` or `context`."""
        return self.name.partition(":")[0]

    @property
    def has_backlog(self) -> bool:
        """Whether there are events to notify it of."""
        return self.latest > self.cursor


class ListenerCursor(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of a stream `listener-NAME`: notified of the memory's writes up to version `writes`."""

    stream: str
    version: int = 0
    writes: int = 0


def stream_of(name: str) -> str:
    """The stream of the listener of that name."""
    return f"{PREFIX}{name}"


def evolve_listener(listener: ListenerCursor, event: ListenerEvent) -> ListenerCursor:
    """The listener after one more event; a notification by two workers at once counts once."""
    return replace(listener, version=listener.version + 1, writes=max(listener.writes, event.upto))


def subscribe(there: Sequence[Subscription], names: Sequence[str], version: int) -> tuple[Subscription, ...]:
    """The listeners from here on; a new one is notified of events after that version."""
    by_name = {cursor.name: cursor for cursor in there}
    return tuple(by_name.get(name) or Subscription(name=name, cursor=version) for name in names)


def advance(there: Sequence[Subscription], event: e.SessionEvent, version: int) -> tuple[Subscription, ...]:
    """The listeners after the event at that version: those of `NEWS` are relevant."""
    if isinstance(event, e.ListenerTold):
        return tuple(
            _notified(cursor, event) if cursor.name == event.listener else cursor for cursor in there
        )
    if isinstance(event, NEWS):
        return tuple(replace(cursor, latest=version) for cursor in there)
    return tuple(there)


def _notified(listening: Subscription, event: e.ListenerTold) -> Subscription:
    retry_at = event.retry_at or 0.0
    attempt = event.attempt + 1 if event.retry_at is not None else 1
    return replace(listening, cursor=event.upto, attempt=attempt, retry_at=retry_at)


def notification_failed(
    listening: Subscription, upto: int, message: str, *, now: float, fraction: float
) -> e.ListenerTold:
    """A notification that failed after the version `upto`: with the time of the retry, or with the next event
    skipped.

    `now` is seconds since the epoch, `fraction` random from 0 up to 1.
    """
    attempt = listening.attempt if upto == listening.cursor else 1
    text = e.ListenerTold(listener=listening.name, upto=upto, attempt=attempt, message=message)
    if attempt >= MAX_ATTEMPTS:
        return replace(text, upto=upto + 1)
    wait = FIRST_WAIT * 2.0 ** (attempt - 1) * (1 + JITTER * fraction)
    return replace(text, retry_at=now + wait)
