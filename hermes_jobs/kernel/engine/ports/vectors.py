"""The ports for embeddings: a model that makes vectors, and search by vector."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from hermes_jobs.kernel.engine.ports.conversation_search import Passage
from hermes_jobs.kernel.engine.ports.host import Cancel
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage

MOST_TEXTS = 2_048
"""Texts of one call, as OpenAI limits them."""

PATIENCE = 60.0


class Vectors(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. `vectors` are as `text.vectors` stores them, one for each text, all of one length."""

    vectors: tuple[bytes, ...]
    model: str
    usage: Usage = NO_USAGE


class Embedder(Protocol):
    """Makes vectors of texts. Safe for many threads."""

    model: str
    """The name under which its vectors are stored; vectors of different names cannot be compared."""

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = PATIENCE) -> Vectors:
        """The vectors of at most `MOST_TEXTS` texts, within so many seconds. Raises `ModelError`."""

    def cost_usd(self, usage: Usage) -> float | None:
        """The cost of that usage; None if the price is not known."""


class VectorSearch(Protocol):
    """Search for texts by meaning, current with the log. Safe for many threads. Raises `LogUnavailable`.

    `vector` is as `text.vectors` stores it, and of that `model`.
    """

    def has_vectors(self, model: str) -> bool:
        """Whether any text has a vector of that model."""

    def nearest_texts(
        self, model: str, vector: bytes, digests: Collection[str], *, least: float, limit: int
    ) -> Sequence[str]:
        """The digests with the nearest vectors, with at least that cosine; best first."""

    def nearest_passages(
        self, model: str, vector: bytes, *, outside: str, least: float, limit: int
    ) -> Sequence[Passage]:
        """The nearest messages in other conversations than that session's, best first, each with its
        answer."""
