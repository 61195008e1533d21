"""Events of reviews of the conversation, as its own stream tells them."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.domain.events.event import Event

ReviewKind = Literal["memory", "skills", "combined", "curate"]


class ReviewRequested(Event, frozen=True, kw_only=True):
    """The conversation up to here is to be reviewed. `reason` is for people."""

    review: str
    kind: ReviewKind
    reason: str
    turn: str | None = None


class ReviewStarted(Event, frozen=True, kw_only=True):
    """The review works in a session of its own."""

    review: str
    session: str
    turn: str


class ReviewCompleted(Event, frozen=True, kw_only=True):
    """`saved` says in a line what was saved; empty for nothing. `failures`: which model failed, so that the
    conversation's own reviewed in its place, and with what."""

    review: str
    saved: str
    failures: str = ""


class ReviewFailed(Event, frozen=True, kw_only=True):
    """The review ended without a report: `kind` of the error and its message."""

    review: str
    kind: str
    message: str
