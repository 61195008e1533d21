"""How a conversation is reviewed: what each fact does to it, and which review may begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hermes_jobs.domain import commands as c
from hermes_jobs.domain import events as e
from hermes_jobs.domain import reviews
from hermes_jobs.domain.errors import Rejected
from hermes_jobs.domain.session import Session
from hermes_jobs.domain.turn import Turn

TurnEnd = e.TurnCompleted | e.TurnFailed | e.TurnCancelled
ReviewEvent = e.ReviewRequested | e.ReviewStarted | e.ReviewCompleted | e.ReviewFailed


def evolve(session: Session, event: ReviewEvent) -> Session:
    """The session after the fact."""
    if isinstance(event, e.ReviewRequested):
        review = reviews.Review(id=event.review, kind=event.kind, at=session.version + 1)
        return replace(
            session,
            reviews=(*session.reviews, review),
            nudges=reviews.fired(session.nudges, event.kind),
        )
    if isinstance(event, e.ReviewStarted):
        return replace(
            session,
            reviews=tuple(
                replace(each, status="running") if each.id == event.review else each
                for each in session.reviews
            ),
        )
    return replace(session, reviews=tuple(each for each in session.reviews if each.id != event.review))


def end_of(review: str, turn: Turn, end: TurnEnd) -> e.ReviewCompleted | e.ReviewFailed:
    """What the end of its turn means for a review."""
    if isinstance(end, e.TurnCompleted):
        saved = " ".join(end.answer.split()) if turn.num_saves else ""
        return e.ReviewCompleted(review=review, saved=saved)
    if isinstance(end, e.TurnFailed):
        return e.ReviewFailed(review=review, kind=end.kind, message=end.message)
    return e.ReviewFailed(review=review, kind="cancelled", message=f"Cancelled by {end.by}.")


def own_ends(session: Session, facts: Iterable[e.SessionEvent]) -> Iterator[e.SessionEvent]:
    """The end of a curator's review, which its own stream holds, after the facts that end its turn."""
    if session.started is None or session.started.source != reviews.CURATED:
        return
    for fact in facts:
        if isinstance(fact, e.TurnCompleted | e.TurnFailed | e.TurnCancelled):
            turn = session.find(fact.turn)
            if turn is not None:
                yield end_of(session.stream.removeprefix("session-"), turn, fact)


def cancel(command: c.CancelReview, session: Session) -> Iterator[e.SessionEvent]:
    """Keep a review from beginning. Raises `Rejected` where it does not wait for that."""
    review = next((each for each in session.reviews if each.id == command.review), None)
    if review is None or review.status != "waiting":
        state = "has ended" if review is None else "has begun"
        raise Rejected(f"Review {command.review} {state}.", kind="not_waiting")
    yield e.ReviewFailed(review=review.id, kind="cancelled", message=f"Cancelled by {command.by}.")


def to_begin(session: Session) -> reviews.Review | None:
    """The review whose turn it is to begin: the oldest, while no other is under way."""
    if any(each.status == "running" for each in session.reviews):
        return None
    return next(iter(session.reviews), None)
