"""Events of the streams `embedding-ID`: batches of texts that get vectors by one helper call each.
The vectors are in the large result `vectors:ID` of the same append as the call's end."""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.helper_calls import HelperCallEvent


class EmbeddedText(msgspec.Struct, frozen=True):
    """A text by its digest (see `rules.digest_of`), and the stream in which it stands."""

    stream: str
    digest: str


class EmbeddingPlanned(Event, frozen=True, kw_only=True):
    """A call of that model for the vectors of these texts was planned."""

    embedding: str
    model: str
    texts: tuple[EmbeddedText, ...]


EmbeddingEvent = EmbeddingPlanned | HelperCallEvent
