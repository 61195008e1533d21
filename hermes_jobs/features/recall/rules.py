"""Embeddings: vectors for some texts, made by one helper call.

EmbeddingPlanned ─▶ a helper call

An event names a text by its digest. The vectors are stored beside the events, as a large result, so that they
can be removed: see `without`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.helper_calls import HelperCall, required
from hermes_jobs.kernel.streams.decision import (
    Decision,
    DecisionResult,
    LargeResult,
    StateLoader,
    StreamEvents,
)
from hermes_jobs.kernel.turns.steps import Step, helper_step

PREFIX = "embedding-"
VECTORS = "vectors:"
"""Prefix of the names of large results that are vectors; no tool call has such an id."""
_DIGEST = 32


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream. `call` is open until there is an `outcome`."""

    stream: str
    version: int = 0
    plan: recall_events.EmbeddingPlanned | None = None
    call: HelperCall | None = None
    outcome: e.HelperCallEvent | None = None

    def helper_call(self, step: str) -> HelperCall | None:
        """Its call, while that is open."""
        return self.call


def digest_of(texts: Iterable[str], before: str = "") -> str:
    """The digest of texts that follow each other; `before` is that of those in front of them."""
    digest = before
    for text in texts:
        digest = sha256(f"{digest}{text}".encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]
    return digest


def stream_of(embedding: str) -> str:
    """The stream of the embedding with that id."""
    return f"{PREFIX}{embedding}"


def vectors_of(stream: str) -> str:
    """The name of the large result that holds an embedding's vectors: a line each, in the plan's order.

    A line is a vector as base64 of its 32-bit floats, little endian; empty for a text that has none.
    """
    return f"{VECTORS}{stream.removeprefix(PREFIX)}"


def next_steps(embedding: Embedding) -> tuple[Step, ...]:
    """Its one step, until it has its outcome."""
    if embedding.call is None:
        return ()
    return (helper_step(embedding.call, embedding.stream, "memory.embed"),)


def evolve(embedding: Embedding, event: recall_events.EmbeddingEvent) -> Embedding:
    """The embedding after one more event."""
    return replace(_apply(embedding, event), version=embedding.version + 1)


def _apply(embedding: Embedding, event: recall_events.EmbeddingEvent) -> Embedding:
    if isinstance(event, recall_events.EmbeddingPlanned):
        return replace(embedding, plan=event, call=HelperCall(id=f"{event.embedding}-1"))
    call = required(embedding, event.step).after(event)
    return replace(embedding, call=call, outcome=event if call is None else None)


# --- decisions ----------------------------------------------------------------------------------


def plan(embedding: str, model: str, texts: Sequence[recall_events.EmbeddedText]) -> Decision:
    """Plan an embedding; no event if it is planned already."""

    def change(load: StateLoader) -> DecisionResult:
        stream = stream_of(embedding)
        state: Embedding = load(stream)
        if state.plan is not None or not texts:
            return DecisionResult()
        event = recall_events.EmbeddingPlanned(embedding=embedding, model=model, texts=tuple(texts))
        return DecisionResult.of(stream, event)

    return change


def embedded(stream: str, outcome: e.HelperCallEnded, vectors: Sequence[str]) -> Decision:
    """Append the outcome; `vectors` are the lines of its large result."""
    large_results = (LargeResult(call=vectors_of(stream), content="\n".join(vectors)),)
    result = DecisionResult(
        writes=(StreamEvents(stream, (outcome,)),), large_results=large_results if any(vectors) else ()
    )
    return lambda load: result


# --- effects on other rows ---------------------------------------------------------------------


def without(planned: recall_events.EmbeddingPlanned, streams: Collection[str], content: str) -> str:
    """The large result of a plan without the vectors of texts in those streams."""
    lines = zip(planned.texts, content.split("\n"), strict=True)
    return "\n".join("" if text.stream in streams else line for text, line in lines)
