"""Steps of reviews that are performed with another model than those of conversations."""

from __future__ import annotations

from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.handlers.tool_context import call_purpose
from hermes_jobs.engine.ports import Cancel, StepHandler, StepOutcome


class ReviewModelRouter:
    """A `StepHandler`: `reviews` runs the steps of a review's session, `usual` all others."""

    def __init__(self, usual: StepHandler, reviews: StepHandler) -> None:
        self._usual = usual
        self._reviews = reviews

    def run(self, session: Session, step: Step, cancel: Cancel) -> StepOutcome:
        performer = self._reviews if call_purpose(session) == "review" else self._usual
        return performer.run(session, step, cancel)
