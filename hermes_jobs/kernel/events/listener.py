"""Events of the streams `listener-NAME`: the cursor of a listener in the log."""

from __future__ import annotations

from hermes_jobs.kernel.events.event import Event


class WritesTold(Event, frozen=True, kw_only=True):
    """The listener was notified of the memory's writes up to that version of the stream `memory`."""

    listener: str
    upto: int


ListenerEvent = WritesTold
