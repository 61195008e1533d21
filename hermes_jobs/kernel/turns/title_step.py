"""Titles by a model: when one is due, and what the events of its step do.

A session without a title gets one after the first completed turn that wants it. The step runs beside whatever
comes next: no turn waits for it. A title that a user gives in the meantime stays, and a session whose last
turn is undone in the meantime gets none.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hermes_jobs.errors import StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, Titling
from hermes_jobs.kernel.turns.turn import Turn

MAX_ATTEMPTS = 3
MAX_CRASHES = 2


def step_id(session: Session) -> str:
    """The id of the session's title step."""
    return f"{session.lineage}-title"


def is_due(session: Session) -> bool:
    """Whether a title is due or being made."""
    job = session.titling
    return job is not None and (job.running or needs_title(session))


def needs_title(session: Session) -> bool:
    """Whether the session needs a title: it has none, and was neither ended nor undone."""
    return session.named is None and session.ended_because is None and session.undone_into is None


def is_step(session: Session, step: str) -> bool:
    """Whether that is the due title step."""
    return is_due(session) and step == step_id(session)


# --- effects of events --------------------------------------------------------------------------


def turn_completed(session: Session, turn: Turn | None) -> Session:
    """The session after that turn has completed; a title is due if it requested one and none has failed for
    good."""
    if turn is None or not turn.wants_title:
        return session
    talks = session.started is not None and session.started.kind == "conversation"
    if not talks or session.named is not None or session.titling or session.title_given_up:
        return session
    return replace(session, titling=Titling(turn=turn))


def evolve(session: Session, event: e.TitleEvent) -> Session:
    """The session after the event."""
    job = session.titling
    assert job is not None, f"no title of {session.stream} is due"
    if isinstance(event, e.TitleStarted):
        return replace(session, titling=job.claimed(event.reserved))
    if event.retry_at is None:
        return replace(session, titling=None, title_given_up=bool(event.kind))
    again = replace(job.released(), attempt=job.attempt + 1, retry_at=event.retry_at)
    return replace(session, titling=again)


def abandoned(session: Session, event: e.StepAbandoned) -> Session:
    """The title step without its worker; it fails for good after too many crashes."""
    job = session.titling
    assert job is not None, f"no title of {session.stream} is due"
    job = job.abandoned(died=event.reason == "died")
    if job.worker_crashes >= MAX_CRASHES:
        return replace(session, titling=None, title_given_up=True)
    return replace(session, titling=job)


# --- decisions ----------------------------------------------------------------------------------


def begin(session: Session, step: str, reserved: Reservation | None) -> Iterator[e.SessionEvent]:
    """A worker starts the step. Raises `StepLost`."""
    yield e.TitleStarted(step=step, attempt=_job(session, step).attempt, reserved=reserved)


def finish(command: c.FinishTitle, session: Session) -> Iterator[e.SessionEvent]:
    """End the attempt; the title is used if it is still needed. Raises `StepLost`."""
    job = _job(session, command.step)
    yield from command.responses
    is_needed = needs_title(session)
    if command.title is not None and is_needed:
        yield e.SessionTitled(session=session.id, title=command.title)
    yield e.TitleEnded(
        step=command.step,
        attempt=job.attempt,
        kind=command.kind,
        message=command.message,
        retry_at=command.retry_at if is_needed and job.attempt < MAX_ATTEMPTS else None,
    )


def _job(session: Session, step: str) -> Titling:
    if session.titling is None or not is_step(session, step):
        raise StepLost(f"step {step} is not due in {session.stream}")
    return session.titling
