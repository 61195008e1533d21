"""Recall by several tracks: what they ask for, and what becomes of their results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.memory.entry_recall import EntryRecall
from hermes_jobs.features.recall.fused_recall import FusedRecall
from hermes_jobs.features.recall.question_vector import QuestionVectors
from hermes_jobs.features.recall.rules import digest_of
from hermes_jobs.kernel.engine.ports import Cancel, ModelError, Recalled, Vectors
from hermes_jobs.kernel.engine.ports.conversation_search import Passage
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker
from hermes_jobs.system.clock import SystemClock
from hermes_jobs.text.tokens import tokens
from hermes_jobs.text.vectors import packed
from tests.memory.provider_support import session
from tests.memory.test_entry_recall import ENTRIES

DECK = "Who varnishes the deck?"


class Index:
    """A `VectorSearch` that finds every text that is named, in their order."""

    def __init__(self, *near: str) -> None:
        self.near = [digest_of((text,)) for text in near]
        self.questions = 0

    def has_vectors(self, model: str) -> bool:
        self.questions += 1
        return True

    def nearest_texts(
        self, model: str, vector: bytes, digests: Collection[str], *, least: float, limit: int
    ) -> Sequence[str]:
        return [each for each in self.near if each in digests][:limit]

    def nearest_passages(
        self, model: str, vector: bytes, *, outside: str, least: float, limit: int
    ) -> Sequence[Passage]:
        return ()


class Embedder:
    """Gives every text the same vector, or fails."""

    model = "m"

    def __init__(self, error: ModelError | None = None) -> None:
        self.error = error

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = 60.0) -> Vectors:
        if self.error is not None:
            raise self.error
        return Vectors(vectors=(packed([1.0, 2.0]),), model="m", usage=Usage(7))

    def cost_usd(self, usage: Usage) -> float | None:
        return usage.input_tokens * 0.5


def vectors(index: Index, error: ModelError | None = None) -> QuestionVectors:
    circuit = CircuitBreaker("the embedding model", SystemClock(), str)
    return QuestionVectors(Embedder(error), index, circuit, max_length=100, minimum=0.3)


def test_nothing_is_asked_where_there_is_nothing_to_recall() -> None:
    index, named = Index(), list[Collection[str]]()

    def names(aliases: Collection[str]) -> tuple[str, ...]:
        named.append(aliases)
        return ()

    of = vectors(index)
    recall = FusedRecall(of, EntryRecall(lambda lineage: (), 1_000, of), names=names)
    assert recall(session(), DECK) == Recalled()
    assert (index.questions, named) == (0, [])


def test_an_entry_that_two_tracks_find_is_first_and_the_call_is_paid() -> None:
    index = Index(ENTRIES[2].text, ENTRIES[0].text)
    of = vectors(index)
    recalled = FusedRecall(of, EntryRecall(lambda lineage: ENTRIES, 1_000, of))(session(), DECK)
    assert recalled.found[0].tracks == ("words", "meaning")
    assert {each.tracks for each in recalled.found[1:]} == {("meaning",)}
    assert [(each.usage, each.cost_usd) for each in recalled.paid] == [(Usage(7), 3.5)]
    assert recalled.failed == ""


def test_a_failing_track_is_reported_and_the_others_are_used() -> None:
    of = vectors(Index(), ModelError("timeout", "No vectors within 5 s."))

    def away(aliases: Collection[str]) -> tuple[str, ...]:
        raise LogUnavailable("The views are away.")

    recalled = FusedRecall(of, EntryRecall(lambda lineage: ENTRIES, 1_000, of), names=away)(session(), DECK)
    assert recalled.memories
    assert recalled.failed == "timeout: No vectors within 5 s."
    assert [each.estimated_cost_usd for each in recalled.paid] == [tokens(DECK) * 0.5], "it may be on a bill"


def test_an_endpoint_that_fails_again_and_again_is_left_alone_for_a_while() -> None:
    of = vectors(Index(), ModelError("connection", "Nothing answers."))
    told = [of.of(DECK).failed for _ in range(4)]
    assert told[:3] == ["connection: Nothing answers."] * 3
    assert told[3] == "the embedding model failed again and again; it is left alone for a while."
