"""Who is told of new facts: at once, or without missing one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_jobs.domain.events import Event, MemoryEvent
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.streams import StreamState


class FileSync(Protocol):
    """Lets what people read follow the log at once, such as the files of the memory and of skills."""

    def __call__(self, streams: Sequence[str]) -> None:
        """These streams, none of them a session's, have new facts. Never raises."""


class AppendHook(Protocol):
    """Hears at once what this process has appended, and is lost with it; a `Listener` misses nothing."""

    def __call__(self, before: StreamState, facts: Sequence[Event], after: StreamState) -> None:
        """One stream has these new facts. Never raises, and makes nobody wait."""


class ListenerError(Exception):
    """A listener stumbled: of a session, over the fact behind version `upto`. Its message holds no secret."""

    def __init__(self, message: str, *, upto: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.upto = upto


class Listener(Protocol):
    """Learns from what sessions come to, such as a memory beside our own. Safe for many threads."""

    @property
    def name(self) -> str:
        """`memory:NAME` or `context:NAME`."""

    def hear(self, session: Session, after: int) -> None:
        """Be told what became of the session after that version of its stream, up to its own.

        It may have been told before, by a process that died then. Takes seconds. Raises `ListenerError`.
        """


class MemoryWriteListener(Listener, Protocol):
    """A listener that hears of the memory's writes besides."""

    def hear_write(self, session: Session, write: MemoryEvent) -> None:
        """Handle a write to the memory, as part of what that session came to. Raises `ListenerError`."""
