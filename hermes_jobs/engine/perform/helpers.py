"""Models that are asked for something beside the conversation, and who stands in for one that fails."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.usage import NO_USAGE
from hermes_jobs.engine.ports import CANCELLED, Cancel, Model, ModelError, ModelRequest, Pricing, Reply

ABOUT_THE_REQUEST = frozenset({CANCELLED, "context_overflow", "payload_too_large", "output_limit"})
"""Kinds of failures that say nothing against the model."""


def nothing_noted(error: ModelError) -> None:
    """Where nobody remembers which models have failed."""


class Helper(msgspec.Struct, frozen=True, kw_only=True):
    """A model that summarises. `window_of` gives the tokens that it takes, `failed` remembers that it has
    failed, so that it is not asked again for a while."""

    model: Model
    name: str
    window_of: Callable[[], int]
    pricing: Pricing
    failed: Callable[[ModelError], None] = nothing_noted


class StandIn:
    """A `Model` that is asked unless it has failed lately; then the model `name` of `main` answers for it.

    `paused(model)` says whether it has, `failed(model, error)` remembers it. A failure that was billed is
    raised as any other, to be booked.
    """

    def __init__(
        self,
        preferred: Model,
        main: Model,
        name: str,
        *,
        paused: Callable[[str], bool],
        failed: Callable[[str, ModelError], None],
    ) -> None:
        self._preferred = preferred
        self._main = main
        self._name = name
        self._paused = paused
        self._failed = failed

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        if not self._paused(request.model):
            try:
                return self._preferred.reply(request, cancel, on_text)
            except ModelError as error:
                if error.kind in ABOUT_THE_REQUEST:
                    raise
                self._failed(request.model, error)
                if error.usage != NO_USAGE:
                    raise
        return self._main.reply(replace(request, model=self._name), cancel, on_text)
