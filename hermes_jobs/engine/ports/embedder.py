"""The port for a model that gives vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes_jobs.domain.usage import NO_USAGE, Usage
from hermes_jobs.engine.ports.cancel import Cancel

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
