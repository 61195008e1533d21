"""Rules of reviews: the effect of each event on a conversation, and which review may start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns import reviews
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn


def evolve(session: Session, event: e.ReviewEvent) -> Session:
    """The session after the event."""
    if isinstance(event, e.ReviewRequested):
        review = reviews.Review(
            id=event.review,
            kind=event.kind,
            at=session.version + 1,
            account=event.account,
            account_usd=event.account_usd,
        )
        return replace(
            session,
            reviews=(*session.reviews, review),
            review_counters=reviews.fired(session.review_counters, event.kind),
        )
    waiting = tuple(other for other in session.reviews if other.id != event.review)
    if isinstance(event, e.ReviewStarted):
        return replace(session, reviews=waiting, active_review=event.review)
    running = None if session.active_review == event.review else session.active_review
    return replace(session, reviews=waiting, active_review=running)


def news_of(event: e.SessionEvent) -> str | None:
    """What the user is told of a finished review with the next answer; None for nothing."""
    if not isinstance(event, e.ReviewCompleted):
        return None
    learned = f"Learned meanwhile: {event.saved}" if event.saved else ""
    return "\n".join(filter(None, (learned, stood_in(event.failures)))) or None


def stood_in(failures: str) -> str:
    """The sentence about failed review models; empty for none."""
    return f"Your conversation's own model reviewed it, as another one failed: {failures}" if failures else ""


def is_its_turn(session: Session, turn: Turn) -> bool:
    """Whether the turn is the review itself: users may write into a review's session too."""
    return session.is_review and session.started is not None and turn.source == session.started.source


def open_or_resumable_turn(session: Session, turn: str) -> Turn | None:
    """The turn with that id: open, or ended and resumable."""
    ended = session.ended.get(turn)
    return session.find(turn) or (ended.turn if ended else None)


def end_of(review: str, turn: Turn, end: e.TurnEnd) -> e.ReviewCompleted | e.ReviewFailed:
    """The review's event at the end of its turn."""
    if isinstance(end, e.TurnCompleted):
        # A stopped review's last text is about the limit, not about its findings.
        words = ", ".join(turn.saves) if end.stopped_by else " ".join(end.answer.split())
        saved = words if turn.saves else ""
        return e.ReviewCompleted(review=review, saved=saved, failures="; ".join(turn.failures))
    if isinstance(end, e.TurnFailed):
        return e.ReviewFailed(review=review, kind=end.kind, message=end.message)
    return e.ReviewFailed(review=review, kind="cancelled", message=f"Cancelled by {end.by}.")


def resumed(review: str, turn: str, conversation: Session) -> e.ReviewStarted:
    """The event of a review that is resumed after its end. Raises `Rejected` while another one runs."""
    if conversation.active_review is not None:
        raise Rejected(
            f"Review {conversation.active_review} of the same conversation is under way.",
            kind="busy",
            hint="Wait for its end, or cancel it: one at a time.",
        )
    return e.ReviewStarted(review=review, session=review, turn=turn)


def of_curator(session: Session, events: Iterable[e.SessionEvent]) -> Iterator[e.SessionEvent]:
    """A curator's review events in its own stream: it continues or ends."""
    if session.started is None or session.started.source != reviews.CURATED:
        return
    review = session.lineage
    for event in events:
        turn = (
            open_or_resumable_turn(session, event.turn)
            if isinstance(event, e.TurnResumed | e.TurnEnd)
            else None
        )
        if turn is None or not is_its_turn(session, turn):
            continue
        if isinstance(event, e.TurnResumed):
            yield resumed(review, event.turn, session)
        elif isinstance(event, e.TurnEnd):
            yield end_of(review, turn, event)


def cancel(command: c.CancelReview, session: Session) -> Iterator[e.SessionEvent]:
    """Cancel a waiting review. Raises `Rejected` if it does not wait."""
    if all(review.id != command.review for review in session.reviews):
        state = "has begun" if session.active_review == command.review else "has ended"
        raise Rejected(f"Review {command.review} {state}.", kind="not_waiting")
    yield e.ReviewFailed(review=command.review, kind="cancelled", message=f"Cancelled by {command.by}.")


def to_begin(session: Session) -> reviews.Review | None:
    """The next review to start: the oldest one, if none is running."""
    return next(iter(session.reviews), None) if session.active_review is None else None
