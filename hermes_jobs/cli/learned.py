"""What the agent learned in the background, told once: at the next turn of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.cli.invocation import Invocation
from hermes_jobs.cli.output import note

if TYPE_CHECKING:
    from hermes_jobs.views.reviews import ReviewView

LOOKED_AT = 20  # newest turns and reviews among which news is looked for
PERSON = frozenset({"cli", "chat"})  # sources of turns behind which sits the same person


def note_learned(invocation: Invocation, turn: str) -> None:
    """Say what reviews saved since the turn before this one had ended."""
    for line in learned(invocation, turn):
        note(line)


def learned(invocation: Invocation, turn: str) -> list[str]:
    """What reviews saved since the turn before this one had ended, a line each."""
    views = invocation.installation.views
    turns = views.turns(limit=LOOKED_AT)
    own = next((each for each in turns if each.id == turn), None)
    if own is None:
        return []
    sources = PERSON if own.source in PERSON else {own.source}
    before = [
        each.ended_at
        for each in turns
        if each.id != turn and each.source in sources and each.ended_at is not None
    ]
    since = max((at for at in before if at < own.submitted_at), default="")
    return [
        f"{_done(review)} meanwhile: {review.saved} (hermes-jobs reviews show {review.id})"
        for review in reversed(views.reviews(limit=LOOKED_AT))
        if review.saved and review.ended_at and since < review.ended_at <= own.submitted_at
    ]


def _done(review: ReviewView) -> str:
    return "Proposed" if review.kind == "curate" else "Learned"
