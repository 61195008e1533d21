"""Events of steps that their worker did not finish."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage

AbandonReason = Literal["died", "shutdown"]


class StepAbandoned(Event, frozen=True, kw_only=True):
    """The step's worker died or left; `shutdown` does not count as an attempt.

    `estimated`: the reserved usage of its call of `model`.
    """

    turn: str
    step: str
    worker: str
    attempt: int
    reason: AbandonReason
    model: str = ""
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class OutcomeDiscarded(Event, frozen=True, kw_only=True):
    """An outcome arrived after its claim was lost: its usage is recorded, and it does not enter the
    transcript. `reserved`: the estimate that was recorded when the claim was lost; the real usage replaces
    it.
    """

    turn: str
    step: str
    worker: str
    kind: str
    attempt: int = 1
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    model: str = ""
    reserved: Reservation | None = None
