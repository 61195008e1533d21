"""Embeddings: vectors for some texts, made by one call, which is one step.

EmbeddingPlanned ─▶ EmbeddingStarted ─▶ EmbeddingEnded, EmbeddingFailed (retried later, or final)

An event names a text by its digest. The vectors are stored beside the events, as a large result, so that they
can be removed: see `without`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import StepLost
from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.accounts import Charge, by_account
from hermes_jobs.kernel.streams.budgets import charges_outside
from hermes_jobs.kernel.streams.decision import (
    Decision,
    DecisionResult,
    LargeResult,
    StateLoader,
    StreamEvents,
)
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.steps import Step

PREFIX = "embedding-"
VECTORS = "vectors:"
"""Prefix of the names of large results that are vectors; no tool call has such an id."""
MAX_STARTS = 5
"""Starts without an outcome after which it is given up: its workers died."""
_DIGEST = 32

Outcome = recall_events.EmbeddingEnded | recall_events.EmbeddingFailed


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream. `reserved` is the reservation of a start that has no outcome."""

    stream: str
    version: int = 0
    plan: recall_events.EmbeddingPlanned | None = None
    starts: int = 0
    attempt: int = 1
    retry_at: float = 0.0
    reserved: Reservation | None = None
    outcome: Outcome | None = None


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
    if embedding.plan is None or embedding.outcome is not None:
        return ()
    return (
        Step(
            id=f"{embedding.plan.embedding}-1",
            stream=embedding.stream,
            kind="memory.embed",
            attempt=embedding.attempt,
            not_before=embedding.retry_at,
        ),
    )


def evolve(embedding: Embedding, event: recall_events.EmbeddingEvent) -> Embedding:
    """The embedding after one more event."""
    return replace(_apply(embedding, event), version=embedding.version + 1)


def _apply(embedding: Embedding, event: recall_events.EmbeddingEvent) -> Embedding:
    match event:
        case recall_events.EmbeddingPlanned():
            return replace(embedding, plan=event)
        case recall_events.EmbeddingStarted():
            return replace(embedding, starts=embedding.starts + 1, reserved=event.reserved)
        case recall_events.EmbeddingFailed(retry_at=float() as retry_at):
            return replace(
                embedding, starts=0, attempt=embedding.attempt + 1, retry_at=retry_at, reserved=None
            )
        case recall_events.EmbeddingEnded() | recall_events.EmbeddingFailed():
            return replace(embedding, outcome=event, reserved=None)
        case _:
            assert_never(event)


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


def record_start(stream: str, step: str, reserved: Reservation | None) -> Decision:
    """A worker begins to ask. Raises `StepLost`."""

    def change(load: StateLoader) -> DecisionResult:
        state: Embedding = load(stream)
        if state.outcome is not None:
            raise StepLost(f"{stream} has its outcome")
        event = recall_events.EmbeddingStarted(
            step=step, attempt=state.attempt, reserved=reserved, lost=state.reserved
        )
        return DecisionResult.of(stream, event)

    return change


def ended(stream: str, outcome: Outcome, vectors: Sequence[str] = ()) -> Decision:
    """Append the outcome; `vectors` are the lines of its large result, if it has one."""
    large_results = (
        (LargeResult(call=vectors_of(stream), content="\n".join(vectors)),) if any(vectors) else ()
    )
    result = DecisionResult(
        writes=(StreamEvents(stream, (outcome,)),),
        large_results=large_results,
        failed=isinstance(outcome, recall_events.EmbeddingFailed),
    )
    return lambda load: result


# --- effects on other rows ---------------------------------------------------------------------


def without(planned: recall_events.EmbeddingPlanned, streams: Collection[str], content: str) -> str:
    """The large result of a plan without the vectors of texts in those streams."""
    lines = zip(planned.texts, content.split("\n"), strict=True)
    return "\n".join("" if text.stream in streams else line for text, line in lines)


def charges(embedding: Embedding, events: Iterable[e.Event], today: str) -> tuple[Charge, ...]:
    """The account changes of those events: its own account, and the day. See `budgets.charges`."""
    return by_account(
        charge
        for event in events
        for charge in charges_outside(embedding.stream, event, embedding.reserved, today)
    )
