"""`hermes-jobs reviews`: what the agent looks back at, and what it learned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.curate import apply, curate
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option, newest
from hermes_jobs.interfaces.cli.output import (
    format_cost,
    format_short_time,
    format_time,
    note,
    print_fields,
    print_heading,
    print_json,
    print_text,
)
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource

if TYPE_CHECKING:
    from hermes_jobs.views.reviews import ReviewView

review_argument = click.argument("review_id", metavar="ID", type=NonEmpty())


@click.group(epilog=example("hermes-jobs reviews list", "hermes-jobs reviews show v3k9"))
def reviews() -> None:
    """Reviews of conversations and of the skills: what was looked at, what was saved, what it cost.

    A review runs after an answer is out, in a session of its own, and never delays the conversation. `curate`
    has the skills looked through, for proposals that `apply` carries out.
    """


@reviews.command("list", epilog=example("hermes-jobs reviews list -n 5"))
@limit_option("reviews, newest first")
@json_option
@pass_context
def list_reviews(context: CliContext, limit: int, as_json: bool) -> None:
    """List reviews, newest first."""
    found = context.application.views.reviews(limit=limit)
    REVIEWS.print_list(found, as_json=as_json)


@reviews.command("show", epilog=example("hermes-jobs reviews show v3k9"))
@review_argument
@limit_option("steps, the newest", default=None)
@json_option
@pass_context
def show_review(context: CliContext, review_id: str, limit: int | None, as_json: bool) -> None:
    """Show a review: why it was due, what it did, what it saved."""
    from hermes_jobs.interfaces.cli import proposal_format

    views = context.application.views
    review = views.review(review_id)
    turn = views.turn(review.work) if review.work else None
    steps = newest(turn.steps, limit) if turn else ()
    if as_json:
        from msgspec import to_builtins

        told = to_builtins(review)
        if review.kind == "curate":
            told["proposals"] = proposal_format.proposal_views(context.application, review.id)
        print_json({**told, "steps": steps})
        return
    came_to = "Proposed" if review.kind == "curate" else "Saved"
    print_fields(
        [
            ("Review", review.id),
            ("Kind", review.kind),
            ("Status", review.status),
            ("Why", review.reason),
            ("Session", review.lineage),
            ("After turn", review.turn or ""),
            ("Requested", format_time(review.requested_at)),
            ("Ended", format_time(review.ended_at)),
            ("Model calls", str(review.num_model_calls)),
            ("Cost", format_cost(review.cost_usd)),
            (came_to, review.saved or ("nothing" if review.status == "completed" else "")),
            ("Note" if review.status == "completed" else "Error", review.message),
        ]
    )
    if review.kind == "curate":
        proposal_format.print_proposals(context.application, review.id)
    if turn is None:
        return
    for step in steps:
        if step.kind == "tool_call" and review.kind != "curate":
            click.echo()
            print_heading(f"{step.name} {step.arguments}"[:400])
            print_text(step.message or step.outcome)
    note(f"Step by step: hermes-jobs turns show {turn.id}")


@reviews.command("retry", epilog=example("hermes-jobs reviews retry v3k9"))
@review_argument
@json_option
@pass_context
def retry_review(context: CliContext, review_id: str, as_json: bool) -> None:
    """Take up a failed or cancelled review again, where it stopped."""
    from hermes_jobs.domain.session.commands import ResumeTurn
    from hermes_jobs.domain.session.session import stream_of
    from hermes_jobs.errors import Rejected

    application = context.application
    review = application.views.review(review_id)
    if review.work is None or review.status not in {"failed", "cancelled"}:
        message = f"Review {review.id} is {review.status}: only one that has begun and failed is retried."
        raise Rejected(message, kind="not_retryable")
    application.engine().execute(stream_of(review.id), ResumeTurn(turn=review.work))
    _print_outcome(context, review.id, "is due again", as_json=as_json)


@reviews.command("cancel", epilog=example("hermes-jobs reviews cancel v3k9"))
@review_argument
@json_option
@pass_context
def cancel_review(context: CliContext, review_id: str, as_json: bool) -> None:
    """Stop a review, or keep it from beginning."""
    from hermes_jobs.domain.session.commands import CancelReview, CancelTurn
    from hermes_jobs.domain.session.session import stream_of

    application = context.application
    review = application.views.review(review_id)
    engine = application.engine()
    if review.status == "running" and review.work is not None:
        engine.execute(stream_of(review.id), CancelTurn(turn=review.work, by="user"))
    else:
        engine.execute(stream_of(review.lineage), CancelReview(review=review.id, by="user"))
    _print_outcome(context, review.id, "is cancelled", as_json=as_json)


reviews.add_command(curate)
reviews.add_command(apply)


def _print_outcome(context: CliContext, review: str, told: str, *, as_json: bool) -> None:
    views = context.application.views
    REVIEWS.print_outcome(lambda: views.review(review), f"Review {review} {told}.", as_json=as_json)


def _row(review: ReviewView) -> tuple[str, ...]:
    saved = review.saved or review.message or ("nothing" if review.status == "completed" else "")
    when, cost = format_short_time(review.requested_at), format_cost(review.cost_usd)
    return (review.id, review.kind, review.status, when, review.lineage, cost, saved)


REVIEWS = Resource(
    ("REVIEW", "KIND", "STATUS", "WHEN", "SESSION", "COST", "SAVED"),
    _row,
    "No reviews yet. One is due every few turns: see memory.nudge_interval in `config show`.",
)
