"""Titles by a model: when one is due, and what the events of its call do.

A session without a title gets one after the first completed turn that wants it. The call runs beside whatever
comes next: no turn waits for it. A title that a user gives in the meantime stays, and a session whose last
turn is undone in the meantime gets none.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.helper_calls import HelperCall, ended, required
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.turns.session import Session, Titling
from hermes_jobs.kernel.turns.turn import Turn

MAX_ATTEMPTS = 3
_MAX_CRASHES = 2
"""Starts without an outcome after which builds without helper calls have given a title up."""


def turn_completed(session: Session, turn: Turn | None) -> Session:
    """The session after that turn has completed; a title is due if it requested one and none has failed for
    good."""
    if turn is None or not turn.wants_title:
        return session
    talks = session.started is not None and session.started.kind == "conversation"
    if not talks or session.named is not None or session.titling or session.title_given_up:
        return session
    return replace(session, titling=Titling(id=f"{session.lineage}-title", turn=turn))


def evolve(session: Session, event: e.HelperCallEvent) -> Session:
    """The session after the event."""
    assert session.titling is not None, f"no title of {session.stream} is due"
    job = session.titling.after(event)
    return replace(session, titling=job, title_given_up=job is None and isinstance(event, e.HelperCallFailed))


def abandoned(session: Session, job: Titling, event: e.StepAbandoned) -> Session:
    """The title without its worker, as builds without helper calls have recorded it."""
    died = event.reason == "died"
    starts = job.starts if died else job.starts - 1
    if starts >= _MAX_CRASHES:
        return replace(session, titling=None, title_given_up=True)
    return replace(session, titling=replace(job, attempt=job.attempt + died, starts=starts, reserved=None))


def give(
    session: Session,
    call: HelperCall,
    title: str,
    keys: tuple[UniqueKey, ...],
    responses: Sequence[e.ResponseBooked],
) -> Decision:
    """Give the session that title if it still needs one; `responses` are the cost. Raises `StepLost`."""

    def change(load: StateLoader) -> DecisionResult:
        now: Session = load(session.stream)
        required(now, call.id)
        titled = (e.SessionTitled(session=now.id, title=title),) if now.needs_title else ()
        write = StreamEvents(session.stream, (*responses, *titled, ended(call)))
        return DecisionResult(writes=(write,), keys=keys if titled else ())

    return change
