"""`hermes-jobs sessions consolidate`: a model extracts observations from finished sessions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.consolidation.tables import select_unread
from hermes_jobs.features.reviews.cli.curate import review_json
from hermes_jobs.features.reviews.tables import select_review
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_session
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import money, pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.consolidation.rules import Consolidation
    from hermes_jobs.features.consolidation.tables import Unread
    from hermes_jobs.features.reviews.tables import ReviewView

BATCH = 20


@command(
    "consolidate",
    epilog=example(
        "hermes-jobs sessions consolidate s3k9", "hermes-jobs sessions consolidate --all-finished -n 5"
    ),
)
@click.argument(
    "session_id", metavar="[ID]", type=NonEmpty(), required=False, shell_complete=complete_session
)
@click.option("--all-finished", is_flag=True, help="All ended or idle sessions, most recently used first.")
@limit_option("conversations, with --all-finished", default=BATCH)
def consolidate_session(
    context: CliContext, session_id: str | None, *, all_finished: bool, limit: int, as_json: Json
) -> int:
    """Extract observations from a finished session.

    A model extracts observations: single facts, each with its date and the turns that state it. They become
    memory entries that are in no prompt and are recalled when a message is about them. Each turn is read
    once. With `memory.consolidate: true`, workers do this automatically.
    """
    if (session_id is None) is not all_finished:
        raise click.UsageError("Give the ID of a session, or --all-finished.")
    lineages = _finished(context, limit) if session_id is None else [_lineage(context, session_id)]
    reviews = list(_consolidated(context, lineages, is_whole=session_id is not None))
    print_result(lambda: list(map(review_json, reviews)), partial(_print_outcome, reviews), as_json=as_json)
    return 0 if all(review.status == "completed" for review in reviews) else 1


def _finished(context: CliContext, limit: int) -> list[str]:
    from hermes_jobs.features.consolidation.plans import plans_of

    return [unread.lineage for unread in plans_of(context.application).finished(limit)]


def _lineage(context: CliContext, text: str) -> str:
    """The lineage of the conversation. Raises `Rejected` for another kind of session."""
    from hermes_jobs.kernel.turns.session import lineage_of

    session = context.application.views.session(context.application.views.find_session(text))
    if session.kind != "conversation":
        raise Rejected(
            f"Session {session.id} is not a conversation with a person, but a {session.kind}.",
            kind="usage",
            hint="`hermes-jobs sessions list` lists conversations.",
        )
    return lineage_of(session.stream)


def _consolidated(context: CliContext, lineages: list[str], *, is_whole: bool) -> Iterator[ReviewView]:
    """Consolidate them, part by part, each until one fails; returns the reviews."""
    from hermes_jobs.interfaces.cli.logging_setup import log_to_file
    from hermes_jobs.runtime.inline_worker import InlineWorker

    if not lineages:
        return
    application = context.application
    log_to_file(context, application.settings.paths.logs)
    with InlineWorker(application) as worker:
        for lineage in lineages:
            while (review := _ask(application, lineage, is_whole=is_whole)) is not None:
                state = _state(application, lineage)
                worker.work(partial(_is_done, application, lineage), stream=state.stream)
                ended = application.views.read(select_review, review)
                yield ended
                if ended.status != "completed":
                    break


def _ask(application: Application, lineage: str, *, is_whole: bool) -> str | None:
    """Request the next part; returns the id of its review, or of the running one. None: all is
    read."""
    from hermes_jobs.features.consolidation.plans import plans_of

    under_way = _state(application, lineage).requested
    if under_way is not None:
        return under_way.review
    unread = _unread(application, lineage, is_whole=is_whole)
    if unread is None or not plans_of(application).ask(application.engine(), unread):
        return None
    requested = _state(application, lineage).last
    return requested.review if requested is not None else None


def _unread(application: Application, lineage: str, *, is_whole: bool) -> Unread | None:
    if is_whole:
        return application.views.read(select_unread, lineage)
    from hermes_jobs.features.consolidation.plans import plans_of

    finished = plans_of(application).finished()
    return next((unread for unread in finished if unread.lineage == lineage), None)


def _state(application: Application, lineage: str) -> Consolidation:
    from hermes_jobs.features.consolidation.rules import Consolidation, stream_of

    state = application.engine().state(stream_of(lineage))
    assert isinstance(state, Consolidation), f"{lineage} has another stream of that name"
    return state


def _is_done(application: Application, lineage: str) -> bool:
    return _state(application, lineage).requested is None


def _print_outcome(reviews: list[ReviewView]) -> None:
    if not reviews:
        note(
            "Nothing to do: no finished conversation has turns left to consolidate. "
            "A conversation is finished once it has ended, was compressed, or was idle for 6 hours."
        )
    for review in reviews:
        outcome = review.saved or ("nothing new" if review.status == "completed" else review.status)
        text = f" ({review.message})" if review.message else ""
        note(f"Session {review.lineage}: {outcome}{text}")
    if reviews:
        calls = pluralize(sum(review.num_model_calls for review in reviews), "model call")
        costs = [review.cost_usd for review in reviews]
        note(f"{calls}, {money(None if None in costs else sum(filter(None, costs)))}.")
    if any(review.saved for review in reviews):
        note("To list them: hermes-jobs memory show; to see an origin: hermes-jobs memory why TEXT")
