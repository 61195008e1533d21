"""Rules of a session's compression: permitted requests, effects of events, due times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns import compression as compressions
from hermes_jobs.kernel.turns import turn as turns
from hermes_jobs.kernel.turns.session import Session, compression_of

_APART: frozenset[e.CompressionReason] = frozenset({"manual", "idle"})
"""Reasons of compressions between turns: how they end says nothing about those that a turn needs."""


def is_at_rest(session: Session) -> bool:
    """Whether the session is between two model calls, or between two turns.

    A turn submitted during a compression waits for it.
    """
    turn = session.current
    if turn is not None and not turn.started and session.compression is not None:
        return session.compression.running
    return turn is None or (turn.started and turn.is_idle and not turn.calls and turn.answer is None)


# --- effects of events --------------------------------------------------------------------------


def evolve(session: Session, event: e.CompressionEvent) -> Session:
    """The session after the event."""
    if isinstance(event, e.ContextPressure):
        return replace(session, pressure_notified=event.high)
    if isinstance(event, e.CompressionRequested):
        return _requested(session, event)
    job = compression_of(session)
    if isinstance(event, e.CompressionStarted):
        return replace(session, compression=job.claimed(event.reserved))
    if isinstance(event, e.ContextFlushed):
        return replace(session, compression=compressions.flushed(job))
    if isinstance(event, e.CompressionFailed):
        return _failed(session, job, event)
    return _compressed(session, job, event)


def _requested(session: Session, event: e.CompressionRequested) -> Session:
    number = session.compressions_requested + 1
    job = compressions.requested(event, session=session.id, number=number)
    if session.is_review:
        job = compressions.flushed(job)  # no flush: a review saves its own findings
    return replace(session, compression=job, compressions_requested=number)


def _failed(session: Session, job: compressions.Compression, event: e.CompressionFailed) -> Session:
    after = compressions.failed(job, event)
    session = replace(session, compression=after)
    if after is not None or job.reason in _APART:
        return session
    # Not again before the next turn, unless the model refuses the prompt: that cannot wait.
    session = replace(session, compression_paused=True)
    if event.kind in compressions.NO_EFFECT:
        session = replace(
            session, ineffective_compressions=session.ineffective_compressions + 1, ineffective_at=job.tokens
        )
    turn = session.current
    if job.reason not in compressions.OVERFLOW_REASONS or turn is None or event.kind == "cancelled":
        return session
    if job.reason == "refused":
        hint = "The endpoint did not say what is wrong with the request. A new session may help."
        return replace(session, current=turns.failed(turn, "bad_request", job.refusal, hint))
    hint = "Start a new session: leave out --session and --continue."
    hint = event.hint or hint
    message = (
        f"The conversation no longer fits the model's window, and could not be compressed: {event.message}"
    )
    return replace(session, current=turns.failed(turn, "context_overflow", message, hint))


def _compressed(session: Session, job: compressions.Compression, event: e.ContextCompressed) -> Session:
    turn = session.current
    return replace(
        session,
        messages=event.messages,
        compression=None,
        num_compressed=session.num_compressed + 1,
        ineffective_compressions=session.ineffective_compressions + 1
        if compressions.is_ineffective(event)
        else 0,
        ineffective_at=event.tokens_after if compressions.is_ineffective(event) else 0,
        prompt_tokens=0,
        measured_messages=0,
        accepted=0,
        pressure_notified=False,
        current=None if turn is None else _fitted(turn, job),
    )


def _fitted(turn: turns.Turn, job: compressions.Compression) -> turns.Turn:
    refits = turn.overflow_compressions + (job.reason in compressions.OVERFLOW_REASONS)
    return replace(turn, compressions=turn.compressions + 1, overflow_compressions=refits)


def with_measured(session: Session, event: e.ModelReplied) -> Session:
    """The session with the provider's token count, which holds for the messages so far."""
    session = replace(session, accepted=len(session.messages))
    tokens = event.usage.prompt_tokens
    if tokens <= 0:
        return session
    return replace(session, prompt_tokens=tokens, measured_messages=len(session.messages))


def abandoned(session: Session, event: e.StepAbandoned) -> Session:
    """The compression without its worker; it fails for good after too many crashes."""
    job, turn = compression_of(session), session.current
    if turn is not None and turn.id == job.turn:
        tally = turn.tally.with_estimate(event.estimated, event.estimated_cost_usd)
        session = replace(session, current=replace(turn, tally=tally))
    after = job.abandoned(died=event.reason == "died")
    if after.worker_crashes < compressions.MAX_DEATHS:
        return replace(session, compression=after)
    return replace(session, compression=None, compression_paused=True)


def no_longer_idle(session: Session) -> Session:
    """The session without a compression that has waited for its idleness."""
    job = session.compression
    return replace(session, compression=None) if job is not None and job.waits_for_idleness else session


def turn_ended(session: Session) -> Session:
    """The effect of the turn's end: only a compression that a user requested continues."""
    job = session.compression
    continues = job is not None and job.reason == "manual"
    return replace(session, compression=job if continues else None, compression_paused=False)


# --- decisions ----------------------------------------------------------------------------------


def request(command: c.RequestCompression, session: Session) -> Iterator[e.SessionEvent]:
    """Request a compression. Raises `Rejected` where there is nothing to compress."""
    pending, next_number = no_longer_idle(session).compression, session.compressions_requested + 1
    if pending is not None or command.number not in {None, next_number}:
        return
    if session.ended_because is not None or session.started is None or not session.messages:
        raise Rejected(
            f"Session {session.id} has nothing to compress.",
            kind="nothing_to_compress",
            hint="Say something first.",
        )
    turn = session.current if session.current is not None and session.current.started else None
    yield e.CompressionRequested(
        turn=turn.id if turn else None,
        reason=command.reason,
        tokens=command.tokens,
        window=command.window,
        focus=command.focus,
        refusal=command.refusal,
        not_before=command.not_before,
    )


def begin(session: Session, step: str, reserved: Reservation | None) -> Iterator[e.SessionEvent]:
    """A worker starts the due step of the compression."""
    job = due(session, step)
    yield e.CompressionStarted(turn=job.turn, step=step, attempt=job.attempt, reserved=reserved)


def finish_flush(command: c.FinishFlush, session: Session) -> Iterator[e.SessionEvent]:
    """End the flush, with whatever result."""
    job = due(session, command.step)
    yield from command.responses
    yield e.ContextFlushed(turn=job.turn, step=command.step, saved=command.saved, message=command.message)


def finish(command: c.FinishCompression, session: Session) -> Iterator[e.SessionEvent]:
    """Replace the history by a summary, in a session that continues this one; or leave it unchanged."""
    due(session, command.step)
    yield from command.responses
    if isinstance(command.outcome, e.CompressionFailed):
        yield command.outcome
        return
    assert session.started is not None
    yield e.SessionEnded(session=session.id, reason="compression")
    yield command.outcome
    yield replace(
        session.started,
        session=command.outcome.into,
        parent=session.id,
        at=None,
        model=session.model or session.started.model,
        system_prompt=command.system_prompt or session.started.system_prompt,
        **_servers(command),
    )
    if command.title is not None:
        yield e.SessionTitled(session=command.outcome.into, title=command.title)


def _servers(command: c.FinishCompression) -> dict[str, Any]:
    """The MCP servers of the continuing session, if they are given."""
    if command.mcp is None:
        return {}
    return {"mcp": command.mcp, "mcp_away": command.mcp_away, "mcp_search": command.mcp_search}


def give_up(session: Session) -> Iterator[e.SessionEvent]:
    """End a compression that has not started, because its session ends. Raises `Rejected` for a running one:
    it would have to continue the session.
    """
    job = session.compression
    if job is None:
        return
    if job.running:
        raise Rejected(
            f"Session {session.id} is being compressed.", kind="busy", hint="End it when that is done."
        )
    yield e.CompressionFailed(
        turn=job.turn,
        step=job.step_id,
        attempt=job.attempt,
        kind="cancelled",
        message="Its session was ended.",
    )


def due(session: Session, step: str) -> compressions.Compression:
    """The compression whose due step that is. Raises `StepLost`."""
    job = session.compression
    if job is None or job.step_id != step or not is_at_rest(session):
        raise StepLost(f"step {step} is not due in {session.stream}")
    return job
