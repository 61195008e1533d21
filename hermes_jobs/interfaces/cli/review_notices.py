"""What a person should know of the agent's memory and skills at the next turn, each thing once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_jobs.bootstrap.conflicts import conflicts
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.output import note

if TYPE_CHECKING:
    from hermes_jobs.views.reviews import ReviewView

LOOKED_AT = 20  # newest turns and reviews among which news is looked for
PERSON = frozenset({"cli", "chat"})  # sources of turns behind which sits the same person


def print_review_notices(context: CliContext, turn: str, *, reviews: bool) -> None:
    """Say what conflicted since the turn before this one; with `reviews` what they saved, too."""
    for line in review_notices(context, turn, reviews=reviews):
        note(line)


def review_notices(context: CliContext, turn: str, *, reviews: bool = True) -> list[str]:
    """What reviews saved and what conflicted since the turn before this one was submitted, a line each;
    then what prompts leave out of the memory."""
    application = context.application
    views = application.views
    turns = views.turns(limit=LOOKED_AT)
    own = next((each for each in turns if each.id == turn), None)
    if own is None:
        return []
    until, sources = own.submitted_at, PERSON if own.source in PERSON else {own.source}
    before = [each.submitted_at for each in turns if each.id != turn and each.source in sources]
    since = max((at for at in before if at <= until), default="")
    ended = [
        review
        for review in reversed(views.reviews(limit=LOOKED_AT))
        if review.ended_at and since < review.ended_at <= until
    ]
    saved = [
        f"{_done(review)} meanwhile: {review.saved} (hermes-jobs reviews show {review.id})"
        for review in ended
        if review.saved and reviews
    ]
    failures = [review.message for review in ended if review.status == "completed" and review.message]
    return [
        *saved,
        *failures,
        *conflicts(application.memory, application.skills, application.log, since, until),
        *_left_out(context),
    ]


def _done(review: ReviewView) -> str:
    return "Proposed" if review.kind == "curate" else "Learned"


def _left_out(context: CliContext) -> Iterator[str]:
    from hermes_jobs.interfaces.cli.memory_checks import memory

    for finding in memory(context.application):
        if finding.status != "ok":
            yield f"{finding.message}. {finding.hint}"
