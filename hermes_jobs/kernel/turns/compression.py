"""State of a compression: requested, flushed, summarised; at most one per session.

It runs between two model calls of a turn, or between two turns. Its steps are `OWNER-flush-N` and
`OWNER-compress-N`: the owner is the turn that it belongs to, else the session; N counts the requested
compressions.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.step_state import StepState

MAX_REFITS = 3
"""The most compressions of a turn after prompts that were refused as too long."""
OVERFLOW_REASONS: frozenset[e.CompressionReason] = frozenset({"overflow", "refused"})
"""Reasons for which the turn cannot continue without the compression."""
MAX_DEATHS = 3
MAX_INEFFECTIVE = 2
"""Ineffective compressions in a row after which automatic compression stops."""
REAL_EFFECT = 0.9
"""A compression that leaves more than this share of the request was ineffective."""
GROWTH_MOST, GROWTH_LEAST = 0.1, 0.02
"""Growth of a request, as a share of the window, after which automatic compression is tried again."""
NO_EFFECT = frozenset({"no_effect", "nothing_to_compress"})
"""Kinds of failures after which the history cannot get smaller."""

Phase = Literal["flush", "compress"]


class Compression(StepState, frozen=True, kw_only=True):
    """The compression that is due or running."""

    owner: str
    number: int
    turn: str | None
    reason: e.CompressionReason
    tokens: int
    window: int
    focus: str
    refusal: str = ""
    phase: Phase = "flush"

    @property
    def waits_for_idleness(self) -> bool:
        """Whether it begins only if the session still rests then."""
        return self.reason == "idle" and self.phase == "flush" and not self.running

    @property
    def step_id(self) -> str:
        """The id of its due step."""
        return f"{self.owner}-{self.phase}-{self.number}"


def requested(event: e.CompressionRequested, *, session: str, number: int) -> Compression:
    """The requested compression; `number` is its place in the lineage."""
    return Compression(
        owner=event.turn or session,
        number=number,
        turn=event.turn,
        reason=event.reason,
        tokens=event.tokens,
        window=event.window,
        focus=event.focus,
        refusal=event.refusal,
        retry_at=event.not_before,
    )


def flushed(compression: Compression) -> Compression:
    """The compression with its summary due."""
    return replace(compression.released(), phase="compress", attempt=1, worker_crashes=0, retry_at=0.0)


def failed(compression: Compression, event: e.CompressionFailed) -> Compression | None:
    """The compression due for a retry; None if it fails for good."""
    if event.retry_at is None:
        return None
    return replace(compression.released(), attempt=compression.attempt + 1, retry_at=event.retry_at)


def is_rearmed(ineffective_at: int, tokens: int, window: int) -> bool:
    """Whether a request of `tokens` has grown enough since the last ineffective compression: by a share of
    the window, or by half of what was left of it.
    """
    growth = max(window * GROWTH_LEAST, min(window * GROWTH_MOST, (window - ineffective_at) / 2))
    return tokens >= ineffective_at + growth


def is_ineffective(event: e.ContextCompressed) -> bool:
    """Whether the compression was ineffective."""
    return event.tokens_after > event.tokens_before * REAL_EFFECT
