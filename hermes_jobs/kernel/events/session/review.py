"""Events of reviews in the stream of the reviewed conversation."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.events.event import Event

ReviewKind = Literal["memory", "skills", "combined", "curate"]
VerifyMode = Literal["off", "cheap", "full"]
"""Whether what a review saves is tried out on past turns, and how thoroughly."""


class ReviewRequested(Event, frozen=True, kw_only=True):
    """A review of the conversation up to here was requested. `reason` is a text for users. `account` and
    `account_usd`: see `TurnSubmitted`; those of the turn that made it due."""

    review: str
    kind: ReviewKind
    reason: str
    turn: str | None = None
    account: str = ""
    account_usd: float | None = None


class ReviewStarted(Event, frozen=True, kw_only=True):
    """The review started in its own session."""

    review: str
    session: str
    turn: str


class ReviewCompleted(Event, frozen=True, kw_only=True):
    """The review completed. `saved`: one line about what was saved, empty for nothing. `failures`: the review
    model's failures, where the conversation's own model reviewed in its place.
    """

    review: str
    saved: str
    failures: str = ""


class ReviewFailed(Event, frozen=True, kw_only=True):
    """The review ended without a report: `kind` of the error and its message."""

    review: str
    kind: str
    message: str


ReviewEvent = ReviewRequested | ReviewStarted | ReviewCompleted | ReviewFailed
