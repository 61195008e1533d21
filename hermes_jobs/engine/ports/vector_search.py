"""The port to texts that have vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from hermes_jobs.engine.ports.conversation_search import Passage


class VectorSearch(Protocol):
    """Texts by what they mean, current with the log. Safe for many threads. Raises `LogUnavailable`.

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
