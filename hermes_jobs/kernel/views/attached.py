"""Files of a turn: those that came with its text, those that its tools show, and those that it delivers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.attachments import Attachment

if TYPE_CHECKING:
    from hermes_jobs.kernel.events.recorded import RecordedEvent


def attachments_of(turn: str, events: Iterable[RecordedEvent]) -> Iterator[tuple[str, Attachment]]:
    """Each with the id of the call whose tool shows or delivers it; empty for those of the turn's text."""
    for recorded in events:
        match recorded.event:
            case e.TurnSubmitted(turn=submitted) as event if submitted == turn:
                yield from (("", attachment) for attachment in event.attachments)
            case (e.ToolFinished(turn=of) | e.FilesDelivered(turn=of)) as event if of == turn:
                yield from ((event.call, attachment) for attachment in event.attachments)


def attachments_json(turn: str, events: Iterable[RecordedEvent]) -> list[dict[str, object]]:
    """The same, as `--json` prints it; `call` is null for those of the text."""
    return [
        {
            "call": call or None,
            "file_name": attachment.file_name,
            "media_type": attachment.media_type,
            "size": attachment.size,
            "digest": attachment.digest or None,
        }
        for call, attachment in attachments_of(turn, events)
    ]
