"""Events of streams `listener-NAME`: what a listener has been told that is no session's."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class WritesTold(Event, frozen=True, kw_only=True):
    """The listener has been told the memory's writes up to that version of the stream `memory`."""

    listener: str
    upto: int


ListenerEvent = WritesTold
