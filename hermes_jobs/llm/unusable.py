"""A model and an embedder that cannot be called: each call says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hermes_jobs.kernel.engine.ports import Cancel, ModelError, ModelRequest, Reply, Vectors
from hermes_jobs.kernel.streams.usage import Usage


class UnusableModel:
    """A `Model` whose every call raises the same `ModelError`, such as one without its key."""

    def __init__(self, error: ModelError) -> None:
        self.error = error

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        raise self.error


class UnusableEmbedder:
    """An `Embedder` whose every call raises the same `ModelError`."""

    def __init__(self, model: str, error: ModelError) -> None:
        self.model = model
        self.error = error

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = 0.0) -> Vectors:
        """See `Embedder.embed`."""
        raise self.error

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Embedder.cost_usd`: there is no usage."""
        return 0.0
