"""The texts of messages: they are stored only in the log, and read from there on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hermes_jobs.errors import Corrupt
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns.synthetic_messages import INTERRUPTED, is_unfinished, unfinished

Texts = Callable[[Iterable[int]], Mapping[int, str]]
LargeResults = Callable[[str], str | None]
"""Returns the texts of the events at these positions, by position."""


def text_of(event: e.Event) -> str:
    """The text of the event's message; empty for other events."""
    match event:
        case e.TurnSubmitted():
            return event.text
        case e.ModelReplied() | e.ToolFinished():
            return event.content
        case e.ModelCallFailed() if is_unfinished(event):
            return unfinished(event.content)
        case e.ToolInterrupted():
            return INTERRUPTED[event.reason]
        case _:
            return ""


def texts_of(log: EventLog) -> Texts:
    """The texts of a log. They raise `Corrupt` if an event that was read before is missing."""

    def texts(positions: Iterable[int]) -> Mapping[int, str]:
        requested = frozenset(positions)
        by_position = (
            {record.position: text_of(record.event) for record in log.at(requested)} if requested else {}
        )
        if missing := requested - by_position.keys():
            raise Corrupt(f"The log has no event at position {min(missing)}, where there was one.")
        return by_position

    return texts
