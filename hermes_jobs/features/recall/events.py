"""Events of the streams `embedding-ID`: batches of texts that get vectors."""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage


class EmbeddedText(msgspec.Struct, frozen=True):
    """A text by its digest (see `domain.embedding.digest_of`), and the stream in which it stands."""

    stream: str
    digest: str


class EmbeddingPlanned(Event, frozen=True, kw_only=True):
    """A call of that model for the vectors of these texts was planned."""

    embedding: str
    model: str
    texts: tuple[EmbeddedText, ...]


class EmbeddingStarted(Event, frozen=True, kw_only=True):
    """A worker started the call. `lost`: the reservation of an earlier start that had no outcome."""

    step: str
    attempt: int
    reserved: Reservation | None = None
    lost: Reservation | None = None


class EmbeddingEnded(Event, frozen=True, kw_only=True):
    """The vectors are in the large result `vectors:ID` of the same append. `dimensions` is their length; 0 if
    no call was made, because all texts had changed or were removed.
    """

    step: str
    attempt: int
    model: str
    dimensions: int
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class EmbeddingFailed(Event, frozen=True, kw_only=True):
    """The attempt failed; it is retried at `retry_at` if that is set."""

    step: str
    attempt: int
    kind: str
    message: str
    model: str
    retry_at: float | None = None
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


EmbeddingEvent = EmbeddingPlanned | EmbeddingStarted | EmbeddingEnded | EmbeddingFailed
