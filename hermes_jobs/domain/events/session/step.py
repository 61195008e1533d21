"""Events of steps whose worker did not finish them."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.usage import NO_USAGE, Reservation, Usage

AbandonReason = Literal["died", "shutdown"]


class StepAbandoned(Event, frozen=True, kw_only=True):
    """The step's owner died or left; `shutdown` counts no attempt.

    `estimated`: what its model call may have used, as it was reserved. `model` was asked.
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
    """An outcome arrived after its step was another's: booked, and never in the transcript.

    `reserved`: what was booked as estimated when the step was taken away; the usage stands in its place.
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
