"""Forking a session at a point that a person names."""

from __future__ import annotations

from hermes_jobs.bootstrap import Application
from hermes_jobs.engine.fork import fork, fork_at_turn
from hermes_jobs.errors import Rejected
from hermes_jobs.views.models import SessionView


def fork_session_at(
    application: Application, parent: SessionView, *, at: str | None = None, before: str | None = None
) -> str:
    """Begin a new session with the history of `parent`; its id.

    `at` is a turn, after which, or an event's number, at which the copy ends; `before` is a turn. Neither:
    all of it. Raises `Rejected` for both, and for what is not of that history.
    """
    if at is not None and before is not None:
        raise Rejected("--at and --before exclude each other.", kind="usage")
    if before is not None and before.isdecimal():
        hint = "Turns are named by their ids: hermes-jobs turns list."
        raise Rejected(f"{before} is no turn.", kind="usage", hint=hint)
    engine, views = application.engine(), application.views
    new = application.ids.name("s")
    named = at or before
    if named is None or named.isdecimal():
        fork(engine, parent.lineage, new, at=None if named is None else int(named))
    else:
        turn = views.turn(views.find_turn(named, session=parent.id))
        fork_at_turn(engine, parent.lineage, new, turn.id, stream=turn.stream, before=before is not None)
    return new
