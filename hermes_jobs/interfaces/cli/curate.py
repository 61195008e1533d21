"""`hermes-jobs reviews curate` and `apply`: a look through the skills, and what a person makes of it."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, timeout_option
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import IntParam, NonEmpty

LOOKED_AT = 50  # newest reviews among which one under way is looked for


@click.command("curate", epilog=example("hermes-jobs reviews curate", "hermes-jobs reviews curate --no-wait"))
@click.option("--wait/--no-wait", default=True, help="Wait until it is done (the default).")
@timeout_option
@json_option
@pass_context
def curate(context: CliContext, wait: bool, timeout: float | None, as_json: bool) -> int:
    """Look through the skills for what should be merged or archived.

    A job that only proposes: nothing changes before `reviews apply`. It is told which skills are alike, and
    how often and when each was used.
    """
    from hermes_jobs.agent.reviews.begin_curation import requesting
    from hermes_jobs.domain.session.session import stream_of
    from hermes_jobs.interfaces.cli.exit_codes import TIMED_OUT
    from hermes_jobs.interfaces.cli.wait import run_or_wait

    application = context.application
    application.check()
    _refuse_second(context)
    review = application.ids.name("v")
    application.engine().change(requesting(review, "asked for by a person"), "reviews curate")
    if not wait:
        if as_json:
            print_json(application.views.review(review))
        else:
            note(f"Review {review} is queued: hermes-jobs reviews show {review}")
        return 0
    note(f"Review {review} looks through the skills …")
    if not run_or_wait(context, stream_of(review), lambda session: not session.is_under_review, timeout):
        note(f"Waited long enough; it goes on: hermes-jobs reviews show {review}")
        return TIMED_OUT
    return _print_end(context, review, as_json=as_json)


def _refuse_second(context: CliContext) -> None:
    from hermes_jobs.errors import Rejected

    for each in context.application.views.reviews(limit=LOOKED_AT):
        if each.kind == "curate" and each.status in {"waiting", "running"}:
            raise Rejected(
                f"Review {each.id} is at it already ({each.status}).",
                kind="under_way",
                hint=f"hermes-jobs reviews show {each.id}, or cancel it.",
            )


def _print_end(context: CliContext, review: str, *, as_json: bool) -> int:
    from hermes_jobs.interfaces.cli import proposal_format
    from hermes_jobs.interfaces.cli.exit_codes import FAILED

    application = context.application
    ended = application.views.review(review)
    if as_json:
        print_json(review_json(context, review))
    elif ended.status == "completed":
        note(ended.saved or "There is nothing to merge or to archive.")
        proposal_format.print_proposals(application, review)
    else:
        note(f"Review {review} {ended.status}: {ended.message}")
        note(f"To take it up again: hermes-jobs reviews retry {review}")
    return 0 if ended.status == "completed" else FAILED


def review_json(context: CliContext, review: str) -> object:
    """The review with its proposals."""
    from msgspec import to_builtins

    from hermes_jobs.interfaces.cli import proposal_format

    application = context.application
    told = to_builtins(application.views.review(review))
    return {**told, "proposals": proposal_format.proposal_views(application, review)}


@click.command(
    "apply", epilog=example("hermes-jobs reviews apply v3k9", "hermes-jobs reviews apply v3k9 --only 2")
)
@click.argument("review_id", metavar="ID", type=NonEmpty())
@click.option(
    "--only",
    "numbers",
    type=IntParam(min=1),
    multiple=True,
    metavar="N",
    help="This proposal; repeatable.",
)
@json_option
@pass_context
def apply(context: CliContext, review_id: str, numbers: tuple[int, ...], as_json: bool) -> None:
    """Carry out what a curator proposes, all of it or nothing.

    Skills that give way are archived with their files, never deleted. What has changed since it was proposed,
    or was applied before, is refused. `skills undo NAME` takes back what was done to a skill.
    """
    from hermes_jobs.interfaces.cli import proposal_format

    application = context.application
    review = application.views.review(review_id)
    curation = proposal_format.curation_of(application, review.id)
    applied = application.curator.apply(curation, numbers, "user")
    if as_json:
        print_json(review_json(context, review.id))
        return
    note(f"Applied: {applied.answer} of review {review.id}.")
    done = {each.stream for each in applied.writes if each.stream.startswith("skill-")}
    for stream in sorted(done):
        note(f"To take it back: hermes-jobs skills undo {stream.removeprefix('skill-')}")
