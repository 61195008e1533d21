"""Events of streams `listener-NAME`: the progress of a listener in the stream `memory`."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class WritesTold(Event, frozen=True, kw_only=True):
    """The listener was notified of the memory's writes up to that version of the stream `memory`."""

    listener: str
    upto: int


ListenerEvent = WritesTold
