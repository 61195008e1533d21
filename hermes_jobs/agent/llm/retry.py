"""Retry delays of failed model calls."""

from __future__ import annotations

MAX_RETRIES = 3
BASE_SECONDS = 2.0
CAP_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 600.0
"""A longer requested wait is not waited: the turn fails, and the user decides."""

RETRYABLE = frozenset({"rate_limit", "overloaded", "server", "timeout", "connection", "garbage", "unknown"})
"""Kinds of `ModelError` after which the same call may succeed."""


def delay(kind: str, retries: int, retry_after: float | None, fraction: float) -> float | None:
    """Seconds to wait before the next attempt after `retries`; None to give up.

    Exponential from 2 s to 60 s, of which the `fraction` (0 to 1) selects between half and all. A provider's
    requested wait is waited in full, plus up to a second, so that many callers do not return at once. After
    an output limit that was too large, a call with a smaller one is made at once.
    """
    if retries >= MAX_RETRIES:
        return None
    if kind == "output_limit":
        return 0.0
    if kind not in RETRYABLE:
        return None
    if retry_after is not None:
        return None if asks_too_long(retry_after) else max(0.0, retry_after) + fraction
    return min(CAP_SECONDS, BASE_SECONDS * 2.0**retries) * (0.5 + fraction / 2)


def asks_too_long(retry_after: float | None) -> bool:
    """Whether the requested wait is too long."""
    return retry_after is not None and retry_after > LONGEST_WAIT_SECONDS
