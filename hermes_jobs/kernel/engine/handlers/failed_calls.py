"""Decides what follows a failed model call: a retry, waiting for a quota, a fallback model, or failure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_jobs.kernel.engine.handlers.request_builder import TurnLimits
from hermes_jobs.kernel.engine.ports import ModelError, RetryPlan
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids

QUOTA_SECONDS = 60.0
"""A rate limit that lasts longer is treated as a quota: the turn waits on a timer, and users are notified."""
MAX_QUOTA_WAITS = 5
"""Waits for a quota during one model call; a provider may report a later reset each time."""
RETRIES_BEFORE_FALLBACK = 1
UNUSABLE = frozenset({"auth", "billing", "model_not_found"})
"""Failures after which the next fallback model is tried at once."""
DOWN = frozenset({"rate_limit", "overloaded", "server", "timeout", "connection", "garbage", "unknown"})
"""Failures after which it is tried when a retry has failed too."""


class NextAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """The time of the next attempt, in seconds since the epoch, and its reason; `at` None: no further
    attempt.

    `resets_at`: when the quota resets for which the fallback is tried; `back_to`: the model whose quota is
    waited for, because its fallback cannot be used. `hint` takes the place of the error's own where it is not
    empty.
    """

    at: float | None = None
    quota_until: float | None = None
    fallback: str = ""
    resets_at: float | None = None
    back_to: str = ""
    hint: str = ""


class Retries(msgspec.Struct, frozen=True):
    """Retry times of calls other than a turn's own."""

    plan: RetryPlan
    clock: Clock
    ids: Ids

    def at(self, error: ModelError, failures: int, *, shortened: bool = False) -> float | None:
        """The time of the next attempt, in seconds since the epoch, after `failures` before this one; None if
        there is none. `shortened`: the next attempt requests a shorter answer, so that it is made after any
        error."""
        wait = self.plan(error.kind, failures, error.retry_after, self.ids.fraction())
        return self.clock.now() + wait if (error.retryable or shortened) and wait is not None else None


class Attempts:
    """Decides what follows a failed call of a turn."""

    def __init__(self, retry: RetryPlan, clock: Clock, ids: Ids, limits: TurnLimits) -> None:
        self._retry = retry
        self._clock = clock
        self._ids = ids
        self._limits = limits

    def after(
        self, turn: Turn, error: ModelError, *, shortened: bool, fallback: Sequence[str]
    ) -> NextAttempt:
        """The next attempt. `shortened`: the call can be repeated with a smaller output limit; `fallback`:
        the models to try instead, in order."""
        now = self._clock.now()
        other = _next_fallback(turn, fallback)
        if other and self._gives_way(turn, error):
            resets_at = now + (error.retry_after or 0.0) if _is_quota(error) else None
            return NextAttempt(at=now, fallback=other, resets_at=resets_at)
        if _is_quota(error):
            return self._quota(turn, error.retry_after or 0.0, now)
        wait = None
        if error.retryable or shortened:
            wait = self._retry(error.kind, turn.retries, error.retry_after, self._ids.fraction())
        if wait is None and turn.exhausted is not None and error.kind in UNUSABLE | DOWN:
            waiting = self._quota(turn, max(0.0, turn.exhausted.until - now), now)
            return msgspec.structs.replace(waiting, back_to=turn.exhausted.model)
        return NextAttempt(at=None if wait is None else now + wait)

    def _gives_way(self, turn: Turn, error: ModelError) -> bool:
        if error.kind in UNUSABLE or _is_quota(error):
            return True
        return error.kind in DOWN and (not error.retryable or turn.retries >= RETRIES_BEFORE_FALLBACK)

    def _quota(self, turn: Turn, wait: float, now: float) -> NextAttempt:
        if wait <= self._limits.wait_for_quota and turn.quota_waits < MAX_QUOTA_WAITS:
            until = now + wait
            return NextAttempt(at=until + self._ids.fraction(), quota_until=until)
        longest = self._limits.wait_for_quota
        text = f"The quota resets in {_hours(wait)}; model.wait_for_quota allows {_hours(longest)}."
        return NextAttempt(hint=f"{text} Use another model, or `turns retry` later.")


def _next_fallback(turn: Turn, models: Sequence[str]) -> str:
    """The next fallback model of the turn; empty where none is left."""
    return next((model for model in models[turn.fallbacks :] if model != turn.model), "")


def _is_quota(error: ModelError) -> bool:
    return error.kind == "rate_limit" and error.retryable and (error.retry_after or 0.0) > QUOTA_SECONDS


def _hours(seconds: float) -> str:
    if 0 < seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if 0 < seconds < 3600 else f"{seconds / 3600:.3g} h"
