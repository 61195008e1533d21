"""`hermes-jobs reviews curate` and `apply`: a review of all skills, and applying its proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.features.replay.tables import select_verifications
from hermes_jobs.features.reviews.tables import select_review, select_reviews
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    Json,
    ReviewId,
    Timeout,
    example,
    numbers_option,
    wait_option,
)
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from hermes_jobs.features.reviews.tables import ReviewView

MAX_SEARCHED = 50  # the newest reviews that are searched for a running one


_ONLY = numbers_option("Only proposal N; repeatable.")


@command("curate", epilog=example("hermes-jobs reviews curate", "hermes-jobs reviews curate --no-wait"))
@wait_option()
def curate(context: CliContext, wait: bool, timeout: Timeout, as_json: Json) -> int:
    """Propose skills to merge or archive.

    It only proposes: nothing changes before `reviews apply`. The model sees which skills are similar, and how
    often and when each was used.
    """
    from hermes_jobs.client.waiting import run_or_wait
    from hermes_jobs.features.reviews.begin_review import request_review
    from hermes_jobs.interfaces.cli.exit_codes import TIMED_OUT
    from hermes_jobs.interfaces.cli.logging_setup import log_to_file
    from hermes_jobs.kernel.turns.session import stream_of

    application = context.application
    application.check()
    _refuse_second(context)
    review = application.ids.name("v")
    application.engine().change(request_review(review, "asked for by a person"), "reviews curate")
    if not wait:
        queued = f"Review {review} is queued: hermes-jobs reviews show {review}"
        print_result(
            lambda: review_json(application.views.read(select_review, review)), queued, as_json=as_json
        )
        return 0
    note(f"Review {review} looks through the skills …")
    application = context.application
    if not run_or_wait(
        application,
        stream_of(review),
        lambda session: not session.is_under_review,
        timeout,
        begins_here=lambda: log_to_file(context, application.settings.paths.logs),
    ):
        note(f"Timed out; the review continues: hermes-jobs reviews show {review}")
        return TIMED_OUT
    return _print_end(context, review, as_json=as_json)


def _refuse_second(context: CliContext) -> None:
    from hermes_jobs.errors import Rejected

    for review in context.application.views.read(select_reviews, limit=MAX_SEARCHED):
        if review.kind == "curate" and review.status in {"waiting", "running"}:
            raise Rejected(
                f"Review {review.id} is at it already ({review.status}).",
                kind="under_way",
                hint=f"hermes-jobs reviews show {review.id}, or cancel it.",
            )


def _print_end(context: CliContext, review: str, *, as_json: bool) -> int:
    from hermes_jobs.features.reviews.cli import proposal_format
    from hermes_jobs.interfaces.cli.exit_codes import FAILED

    application = context.application
    ended = application.views.read(select_review, review)

    def print_text() -> None:
        if ended.status == "completed":
            note(ended.saved or "There is nothing to merge or archive.")
            proposal_format.print_proposals(application, review)
        else:
            note(f"Review {review} {ended.status}: {ended.message}")
            note(f"To resume it: hermes-jobs reviews retry {review}")

    print_result(lambda: details_json(context, ended), print_text, as_json=as_json)
    return 0 if ended.status == "completed" else FAILED


def review_json(review: ReviewView) -> dict[str, object]:
    """The review as scripts see it: `session` is the reviewed conversation, of a curator its own."""
    from msgspec.structs import asdict

    fields = asdict(review)
    return {"review": fields.pop("id"), "session": fields.pop("lineage"), **fields}


def details_json(context: CliContext, review: ReviewView) -> dict[str, object]:
    """The same with a curator's proposals, or with the verifications of other reviews' writes."""
    from hermes_jobs.features.reviews.cli.proposal_format import proposal_views

    text = review_json(review)
    if review.kind == "curate":
        text["proposals"] = proposal_views(context.application, review.id)
    else:
        text["tried_out"] = context.application.views.read(select_verifications, review.id)
    return text


@command("apply", epilog=example("hermes-jobs reviews apply v3k9", "hermes-jobs reviews apply v3k9 --only 2"))
@_ONLY
def apply(context: CliContext, review_id: ReviewId, numbers: tuple[int, ...], as_json: Json) -> None:
    """Apply proposals, or undo what made answers worse; all or nothing.

    Replaced skills are archived with their files, never deleted. A proposal is refused if the skill has
    changed since, or if it was applied before. `skills undo NAME` undoes a change. For the review of a
    conversation, `apply` undoes what made answers worse: see `learning.verify`.
    """
    from hermes_jobs.features.reviews.cli import proposal_format

    application = context.application
    review = application.views.read(select_review, review_id)
    if review.kind != "curate":
        _decide(context, review, numbers, keep=False, as_json=as_json)
        return
    curation = proposal_format.curation_of(application, review.id)
    applied = application.curator.apply(curation, numbers, "user")
    streams = {events.stream for events in applied.writes if events.stream.startswith("skill-")}

    def print_text() -> None:
        note(f"Applied: {applied.answer} of review {review.id}.")
        for stream in sorted(streams):
            note(f"To undo: hermes-jobs skills undo {stream.removeprefix('skill-')}")

    print_result(lambda: details_json(context, review), print_text, as_json=as_json)


@command("keep", epilog=example("hermes-jobs reviews keep v3k9", "hermes-jobs reviews keep v3k9 --only 2"))
@_ONLY
def keep(context: CliContext, review_id: ReviewId, numbers: tuple[int, ...], as_json: Json) -> None:
    """Keep what a review saved, although it made answers worse.

    `reviews show` prints the numbers. --only also keeps what could not be tested.
    """
    review = context.application.views.read(select_review, review_id)
    _decide(context, review, numbers, keep=True, as_json=as_json)


def _decide(
    context: CliContext, review: ReviewView, numbers: tuple[int, ...], *, keep: bool, as_json: bool
) -> None:
    from hermes_jobs.features.replay.api import decide, subject_of

    application = context.application
    things = [
        subject_of(application, verification)
        for verification in decide(application, review.id, numbers, keep=keep)
    ]

    def print_text() -> None:
        for thing in things:
            note(f"{'Kept' if keep else 'Undone'}: {thing}.")

    print_result(lambda: details_json(context, review), print_text, as_json=as_json)
