"""Ports that are notified of events: at once but unreliably, or later but completely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.turns.session import Session


class FileSync(Protocol):
    """Writes files after the log at once, such as those of the memory and of skills."""

    def __call__(self, streams: Sequence[str]) -> None:
        """Handle new events in these streams, none of them a session's. Never raises."""


class AppendHook(Protocol):
    """Called at once with the events that this process has appended; calls are lost if the process dies. A
    `Listener` gets every event."""

    def __call__(self, before: StreamState, events: Sequence[Event], after: StreamState) -> None:
        """Handle new events of one stream. Never raises or blocks."""


class ListenerError(Exception):
    """A listener failed on the event after version `upto` of a session. The message holds no secret."""

    def __init__(self, message: str, *, upto: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.upto = upto


class Listener(Protocol):
    """Is notified of all events of sessions, such as an external memory provider. Safe for many threads."""

    @property
    def name(self) -> str:
        """`memory:NAME` or `context:NAME`."""

    def notify(self, session: Session, after: int) -> None:
        """Handle the session's events after that version of its stream, up to its own.

        They may have been delivered before, by a process that died then. Takes seconds. Raises
        `ListenerError`.
        """
