"""`review.*`: a review begins as a session of its own that goes on from the conversation as it was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from hermes_jobs.agent.reviews.prompts import review_prompt
from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.domain.events import ReviewStarted, TurnSubmitted, VerifyMode
from hermes_jobs.domain.session.review_rules import to_begin
from hermes_jobs.domain.session.reviews import SOURCE
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports import Cancel, Ids

ToolsetsOn = Callable[[Sequence[str] | None], Collection[str]]
"""The toolsets that have tools among those named, None: among the configured ones."""


class BeginReview:
    """Begins the review that is due. `model` is the one that reviews; None: the conversation's own. It gets
    the tools for what is on in the conversation, as `toolsets_on` says. `verify`: how what it saves is
    verified."""

    def __init__(self, ids: Ids, model: str | None, toolsets_on: ToolsetsOn, verify: VerifyMode) -> None:
        self._ids = ids
        self._model = model
        self._toolsets_on = toolsets_on
        self._verify = verify

    def run(self, state: Session, step: Step, cancel: Cancel) -> Decision:
        """The review's session and its one turn, begun together with the event that says so."""
        turn = self._ids.name("t")

        def change(load: StateLoader) -> DecisionResult:
            conversation: Session = load(step.stream)
            review = to_begin(conversation)
            if review is None or step.id != f"{review.id}-begin" or conversation.started is None:
                return DecisionResult()
            toolsets = review_toolsets(self._toolsets_on(conversation.started.toolsets))
            begun = ReviewStarted(review=review.id, session=review.id, turn=turn)
            started = replace(
                conversation.started,
                session=review.id,
                kind="review",
                source=f"{SOURCE}{review.kind}",
                model=self._model or conversation.model or conversation.started.model,
                parent=conversation.lineage,
                at=review.at,
                toolsets=toolsets,
                verify=self._verify,
            )
            submitted = TurnSubmitted(
                turn=turn,
                text=review_prompt(review.kind),
                source=started.source,
                session=review.id,
                toolsets=toolsets,
                attended=False,
            )
            return DecisionResult(
                writes=(
                    StreamEvents(conversation.stream, (begun,)),
                    StreamEvents(stream_of(review.id), (started, submitted)),
                )
            )

        return change


def review_toolsets(on: Collection[str]) -> tuple[str, ...]:
    """What a review of a conversation with these toolsets may use: it writes nothing that is off there."""
    if "memory" in on and "skills" in on:
        return ("review",)
    return ("memory-review",) if "memory" in on else ("skills-review",)
