"""The texts of messages: they are stored only in the log, and read from there on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hermes_jobs.errors import Corrupt
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns.synthetic_messages import INTERRUPTED, is_unfinished, unfinished

Texts = Callable[[Iterable[int]], Mapping[int, str]]
"""Returns the texts of the events at these positions, by position."""
LargeResults = Callable[[str], str | None]
DocumentTexts = Callable[[str], str | None]
"""Returns the text of an attached document by its digest."""


def text_of(event: e.Event) -> str:
    """The text of the event's message; empty for other events."""
    match event:
        case e.TurnSubmitted():
            return event.text
        case e.ModelReplied() | e.ToolFinished():
            return event.content
        case e.ModelCallFailed() if is_unfinished(event):
            return unfinished(event.content)
        case e.ContextPrefetched():
            return "\n\n".join(each.words for each in event.heard if each.words)
        case e.ToolInterrupted():
            return INTERRUPTED[event.reason]
        case _:
            return ""


def no_documents(digest: str) -> str | None:  # noqa: ARG001 - a `DocumentTexts`
    """A `DocumentTexts` that has none."""
    return None


def with_attached(event: e.Event, text: str, documents: DocumentTexts) -> str:
    """The text, then the names of what is attached to it, and the texts of documents and descriptions."""
    if not isinstance(event, e.TurnSubmitted | e.ToolFinished):
        return text
    attached = (
        (item.file_name, documents(item.text) if item.text else None, item.seen) for item in event.attachments
    )
    return "\n".join((text, *(part for parts in attached for part in parts if part)))


def texts_of(log: EventLog, documents: DocumentTexts | None = None) -> Texts:
    """The texts of a log, with what is attached to them where `documents` are given.

    They raise `Corrupt` if an event that was read before is missing.
    """

    def said(event: e.Event) -> str:
        return text_of(event) if documents is None else with_attached(event, text_of(event), documents)

    def texts(positions: Iterable[int]) -> Mapping[int, str]:
        requested = frozenset(positions)
        records = log.at(requested) if requested else ()
        by_position = {record.position: said(record.event) for record in records}
        if missing := requested - by_position.keys():
            raise Corrupt(f"The log has no event at position {min(missing)}, where there was one.")
        return by_position

    return texts
