"""The ports for vectors: of a model that gives them, and to texts that have them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from hermes_jobs.domain.usage import NO_USAGE, Usage
from hermes_jobs.engine.ports.conversation_search import Passage
from hermes_jobs.engine.ports.host import Cancel

MOST_TEXTS = 2_048
"""Texts of one call, as OpenAI limits them."""

PATIENCE = 60.0


class Vectors(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. `vectors` are as `text.vectors` stores them, one for each text, all of one length."""

    vectors: tuple[bytes, ...]
    model: str
    usage: Usage = NO_USAGE


class Embedder(Protocol):
    """Gives texts vectors. Safe for many threads."""

    model: str
    """The name under which its vectors are kept; those of two names cannot be compared."""

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = PATIENCE) -> Vectors:
        """The vectors of at most `MOST_TEXTS` texts, within so many seconds. Raises `ModelError`."""

    def cost_usd(self, usage: Usage) -> float | None:
        """What that usage costs; None where the price is not known."""


class VectorSearch(Protocol):
    """Search for texts by meaning, current with the log. Safe for many threads. Raises `LogUnavailable`.

    `vector` is as `text.vectors` stores it, and of that `model`.
    """

    def has_vectors(self, model: str) -> bool:
        """Whether any text has a vector of that model."""

    def nearest_texts(
        self, model: str, vector: bytes, digests: Collection[str], *, least: float, limit: int
    ) -> Sequence[str]:
        """Those of the digests whose vectors are nearest, with a cosine of at least that; best first."""

    def nearest_passages(
        self, model: str, vector: bytes, *, outside: str, least: float, limit: int
    ) -> Sequence[Passage]:
        """What was said nearest to it in other conversations than that session's, best first, each with what
        answered it."""
