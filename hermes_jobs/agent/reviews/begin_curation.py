"""`review.curate`: a look through the skills begins, as a session of its own."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.agent.reviews.prompts import CURATOR, curation_prompt
from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.domain.events import (
    ReviewCompleted,
    ReviewRequested,
    ReviewStarted,
    SessionStarted,
    TurnSubmitted,
)
from hermes_jobs.domain.session.review_rules import to_begin
from hermes_jobs.domain.session.reviews import CURATED
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports import Cancel, Ids

TOOLSETS = ("curate",)


def requesting(review: str, reason: str) -> Decision:
    """The change by which a look through the skills becomes due."""

    def change(load: StateLoader) -> DecisionResult:  # noqa: ARG001 - the port's
        fact = ReviewRequested(review=review, kind="curate", reason=reason)
        return DecisionResult(writes=(StreamEvents(stream_of(review), (fact,)),))

    return change


class BeginCuration:
    """Begins the look that is due, by `model`. `stock` lists the skills, empty where there are none."""

    def __init__(self, ids: Ids, model: str, stock: Callable[[], str]) -> None:
        self._ids = ids
        self._model = model
        self._stock = stock

    def run(self, state: Session, step: Step, cancel: Cancel) -> Decision:
        """The session and its one turn; where there are no skills, that is the end of it."""
        turn, stock = self._ids.name("t"), self._stock()

        def change(load: StateLoader) -> DecisionResult:
            session: Session = load(step.stream)
            review = to_begin(session)
            if review is None or step.id != f"{review.id}-begin":
                return DecisionResult()
            if not stock:
                ended = ReviewCompleted(review=review.id, saved="")
                return DecisionResult(writes=(StreamEvents(session.stream, (ended,)),))
            begun = ReviewStarted(review=review.id, session=review.id, turn=turn)
            started = SessionStarted(
                session=review.id,
                kind="review",
                source=CURATED,
                model=self._model,
                system_prompt=f"{CURATOR}\n",
                toolsets=TOOLSETS,
            )
            submitted = TurnSubmitted(
                turn=turn,
                text=curation_prompt(stock),
                source=CURATED,
                session=review.id,
                toolsets=TOOLSETS,
                attended=False,
            )
            return DecisionResult(writes=(StreamEvents(session.stream, (begun, started, submitted)),))

        return change
