"""Steps of reviews that are performed with another model than those of conversations."""

from __future__ import annotations

from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.handlers.tool_context import call_purpose
from hermes_jobs.engine.ports import Cancel, Performer


class ReviewModelRouter:
    """A `Performer`: `reviews` performs what belongs to a review's session, `usual` everything else."""

    def __init__(self, usual: Performer, reviews: Performer) -> None:
        self._usual = usual
        self._reviews = reviews

    def perform(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        performer = self._reviews if call_purpose(session) == "review" else self._usual
        return performer.perform(session, step, cancel)
