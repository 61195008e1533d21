"""`hermes-jobs reviews`: reviews of conversations and skills, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.features.replay.tables import select_verifications
from hermes_jobs.features.reviews.cli.curate import apply, curate, details_json, keep, review_json
from hermes_jobs.features.reviews.tables import select_review, select_reviews
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import (
    Json,
    ReviewId,
    example,
    limit_option,
    newest,
)
from hermes_jobs.interfaces.cli.output import note, one_line, print_heading, print_text
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel.events import TurnResumed
from hermes_jobs.text.figures import money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.reviews.tables import ReviewView
    from hermes_jobs.kernel.views.models import StepView


@group(epilog=example("hermes-jobs reviews list", "hermes-jobs reviews show v3k9"))
def reviews() -> None:
    """Reviews of conversations and of the skills: what was looked at, what was saved, what it cost.

    A review runs after an answer was given, in a session of its own, and never delays the conversation.
    `curate` proposes changes to skills, which `apply` makes. If something that a review saved makes answers
    worse, `apply` undoes it and `keep` keeps it. ID may be a unique prefix, or `last`.
    """


@reviews.command("list", epilog=example("hermes-jobs reviews list -n 5"))
@limit_option("reviews, newest first")
def list_reviews(context: CliContext, limit: int, as_json: Json) -> None:
    """List reviews, newest first."""
    rows = context.application.views.read(select_reviews, limit=limit)
    if as_json:
        REVIEWS.print_list(rows, as_json=True)
        return
    from hermes_jobs.features.reviews.saved_names import saved_names

    names = saved_names(context.application.log, {review.id for review in rows if review.saved})
    saved: Column[ReviewView] = Column(
        "SAVED", lambda review: names.get(review.id) or _saved(review), is_main=True
    )
    REVIEWS._replace(columns=(*REVIEWS.columns[:-1], saved)).print_list(rows, as_json=False)


@reviews.command("show", epilog=example("hermes-jobs reviews show v3k9"))
@limit_option("steps, the newest", default=None)
def show_review(context: CliContext, review_id: ReviewId, limit: int | None, as_json: Json) -> None:
    """Show a review: why it was due, what it did, what it saved."""
    views = context.application.views
    review = views.read(select_review, review_id)
    turn = views.turn(review.work) if review.work else None
    steps = newest(turn.steps, limit) if turn else ()

    def whole(view: ReviewView) -> dict[str, object]:
        from hermes_jobs.kernel.views.turn_json import step_json

        return {**details_json(context, view), "steps": [step_json(step) for step in steps]}

    REVIEWS._replace(to_json=whole).print_one(
        review, as_json=as_json, details=lambda: _print_work(context, review, steps)
    )


def find_review(application: Application, name: str) -> str:
    """The id of that review. Raises `Rejected`."""
    return application.views.read(select_review, name).id


def _print_work(context: CliContext, review: ReviewView, steps: Sequence[StepView]) -> None:
    """Print a review's proposals, else each call with its outcome."""
    if review.kind == "curate":
        from hermes_jobs.features.reviews.cli.proposal_format import print_proposals

        print_proposals(context.application, review.id)
    for step in steps:
        if step.kind == "tool_call" and review.kind != "curate":
            click.echo()
            print_heading(one_line(call_details(step.name, step.arguments))[:400])
            print_text(step.message or step.outcome)
    if review.kind == "consolidate":
        _print_observations(context, review)
        return
    if review.kind != "curate":
        from hermes_jobs.features.replay.cli.verifications import print_findings

        print_findings(context.application, context.application.views.read(select_verifications, review.id))
    if review.work:
        note(f"Step by step: hermes-jobs turns show {review.work}")


def _print_observations(context: CliContext, review: ReviewView) -> None:
    """Print a consolidation's observations, with how to undo them."""
    from hermes_jobs.features.memory.events import MemoryAdded, MemoryReplaced

    for write in context.application.memory.writes():
        if isinstance(write.event, MemoryAdded | MemoryReplaced) and write.event.review == review.id:
            click.echo()
            print_heading(one_line(f"{write.event.observed}: {write.event.content}"))
            if isinstance(write.event, MemoryReplaced):
                print_text(one_line(f"in the place of: {write.event.old}"))
            turns = ", ".join(write.event.observed_in)
            print_text(f"said in {turns}; take it back: hermes-jobs memory undo {write.version}")


@reviews.command("retry", epilog=example("hermes-jobs reviews retry v3k9"))
def retry_review(context: CliContext, review_id: ReviewId, as_json: Json) -> None:
    """Resume a failed or cancelled review where it stopped."""
    from hermes_jobs.errors import Rejected
    from hermes_jobs.features.consolidation import rules as consolidation
    from hermes_jobs.kernel.turns.commands import ResumeTurn
    from hermes_jobs.kernel.turns.session import stream_of

    application = context.application
    review = application.views.read(select_review, review_id)
    if review.kind == "consolidate":
        application.engine().change(consolidation.again(review.lineage, review.id), "reviews retry")
        _print_outcome(context, review.id, "is due again", as_json=as_json)
        return
    if review.work is None or review.status not in {"failed", "cancelled"}:
        message = f"Review {review.id} is {review.status}: only one that has begun and failed is retried."
        raise Rejected(message, kind="not_retryable")
    application.engine().execute(stream_of(review.id), ResumeTurn(TurnResumed(turn=review.work)))
    _print_outcome(context, review.id, "is due again", as_json=as_json)


@reviews.command("cancel", epilog=example("hermes-jobs reviews cancel v3k9"))
def cancel_review(context: CliContext, review_id: ReviewId, as_json: Json) -> None:
    """Cancel a review, whether running or queued."""
    from hermes_jobs.features.consolidation import rules as consolidation
    from hermes_jobs.kernel.turns.commands import CancelReview, CancelTurn
    from hermes_jobs.kernel.turns.session import stream_of

    application = context.application
    review = application.views.read(select_review, review_id)
    engine = application.engine()
    if review.kind == "consolidate":
        engine.change(consolidation.cancel(review.lineage, review.id, "user"), "reviews cancel")
    elif review.status == "running" and review.work is not None:
        engine.execute(stream_of(review.id), CancelTurn(turn=review.work, by="user"))
    else:
        engine.execute(stream_of(review.lineage), CancelReview(review=review.id, by="user"))
    _print_outcome(context, review.id, "is cancelled", as_json=as_json)


reviews.add_command(curate)
reviews.add_command(apply)
reviews.add_command(keep)


def _print_outcome(context: CliContext, review: str, text: str, *, as_json: bool) -> None:
    views = context.application.views
    REVIEWS.print_outcome(
        lambda: views.read(select_review, review), f"Review {review} {text}.", as_json=as_json
    )


def _fields(review: ReviewView) -> Sequence[tuple[str, str]]:
    came_to = "Proposed" if review.kind == "curate" else "Saved"
    return [
        ("Review", review.id),
        ("Kind", review.kind),
        ("Status", review.status),
        ("Why", review.reason),
        ("Session", review.lineage),
        ("After turn", review.turn or ""),
        ("Requested", format_time(review.requested_at)),
        ("Ended", format_time(review.ended_at)),
        ("Model calls", str(review.num_model_calls)),
        ("Cost", money(review.cost_usd)),
        (came_to, review.saved or ("nothing" if review.status == "completed" else "")),
        ("Note" if review.status == "completed" else "Error", review.message),
    ]


def _saved(review: ReviewView) -> str:
    return review.saved or review.message or ("nothing" if review.status == "completed" else "")


REVIEWS: Resource[ReviewView] = Resource(
    (
        Column("REVIEW", lambda review: review.id),
        Column("KIND", lambda review: review.kind, rank=1),
        Column("STATUS", lambda review: review.status),
        moment_column("WHEN", lambda review: review.requested_at),
        Column("SESSION", lambda review: review.lineage, rank=2),
        Column("COST", lambda review: money(review.cost_usd), rank=3, right=True),
        Column("SAVED", _saved, is_main=True),
    ),
    "No reviews yet. One is due every few turns: see memory.nudge_interval in `config show`.",
    review_json,
    _fields,
    by_day=True,
)
