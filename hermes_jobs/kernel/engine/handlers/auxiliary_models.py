"""Auxiliary models (for summaries, reviews and titles), and the fallback to the session's own model."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    FailedCall,
    Model,
    ModelError,
    ModelRequest,
    Pricing,
    Reply,
)

ABOUT_THE_REQUEST = frozenset({CANCELLED, "context_overflow", "payload_too_large", "output_limit"})
"""Kinds of failures that do not make the model unusable."""


class Helper(msgspec.Struct, frozen=True, kw_only=True):
    """A model that summarises. `window_of` returns its context window in tokens; `failed` records a failure,
    after which the model is not used for a while; `paused`: the failure for which it is not used now."""

    model: Model
    name: str
    window_of: Callable[[], int]
    pricing: Pricing
    failed: Callable[[ModelError], None] | None = None
    paused: str = ""


class StandIn(msgspec.Struct, frozen=True, eq=False):
    """A `Model` that calls the preferred model, or the session's own model if that one has failed recently.

    `main` calls any model by its name; `own(lineage)` is the name of the session's own. `paused(model)` says
    whether it has failed recently, `failed(model, error)` records a failure. The failed call is in the reply
    or in the error, so that its usage is recorded and users are notified.
    """

    preferred: Model
    main: Model
    own: Callable[[str], str]
    paused: Callable[[str], bool]
    failed: Callable[[str, ModelError], None]

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        if self.paused(request.model):
            return self._instead(request, cancel, on_text)
        try:
            return self.preferred.reply(request, cancel, on_text)
        except ModelError as error:
            if error.kind in ABOUT_THE_REQUEST:
                raise
            self.failed(request.model, error)
            failed = FailedCall(request.model, error)
        try:
            return replace(self._instead(request, cancel, on_text), instead_of=failed)
        except ModelError as error:
            error.instead_of = failed
            raise

    def _instead(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        return self.main.reply(replace(request, model=self.own(request.session)), cancel, on_text)
