"""What Flower shows of a task besides its id: ids and names, and the first line of an error.

Never texts, titles or tool arguments: a viewer of Flower is not always the agent's user.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.schedules.rules.schedule import SOURCE, Schedule
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import (
    CompressionFailed,
    Event,
    HelperCallFailed,
    ModelCallFailed,
    ReferenceFailed,
    TurnFailed,
)
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import labels_of
from hermes_jobs.kernel.turns import reviews
from hermes_jobs.kernel.turns.session import Session, is_session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.tool_names import name_of_tool

LOOK_BACK = 10  # newest events of a stream, searched for the failure
MAX_ERROR_CHARS = 200  # characters of an error
WORDS = 60  # characters of a name

Describe = Callable[[Step], str]
Root = Callable[[Step], str]
"""Gives the turn at the root of a step's tree."""


def from_step(step: Step) -> str:
    """What the step itself says."""
    kind, _, name = step.stream.partition("-")
    return _shown(**{kind: name})


def from_state(step: Step, state: StreamState | None) -> str:
    """What the state of its stream says as well; None where this process does not know it."""
    match state:
        case Session():
            return _of_session(step, state)
        case Schedule():
            return _shown(schedule=state.id)
        case None:
            return from_step(step)
        case _:
            return _shown(**labels_of(state)) or from_step(step)


def root_of_step(step: Step) -> str:
    """The step's own turn, which is the root as far as the step itself says."""
    return step.id.partition("-")[0]


def root_of(step: Step, state: StreamState | None) -> str:
    """The turn at the root of the tree: another one than the step's own where that is a sub-agent's."""
    turn = root_of_step(step)
    place = state.delegation_of(turn) if isinstance(state, Session) else None
    return place.payers[0].turn if place is not None else turn


def waiting_for(state: StreamState | None, step_id: str) -> str:
    """The command that answers what calls of the step ask a person; empty where nobody is asked."""
    turn = state.current if isinstance(state, Session) else None
    if turn is None or turn.cancelled_by is not None:
        return ""
    for call in turn.calls:
        if call.waits_for_person and (call.id == step_id or call.id.startswith(f"{step_id}-")):
            asks, verb = ("an answer", "answer") if call.waits_for_input else ("approval", "approve")
            return f"waits for {asks}: hermes-jobs turns {verb} {turn.id}"
    return ""


def failure_of(engine: Engine, stream: str, step_id: str, redact: Callable[[str], str]) -> str:
    """How the step failed: the error's kind and its first line, redacted; empty where the log has none."""
    session = engine.sessions.cached(stream)
    try:
        recent = engine.log.read(stream, after=max(0, (session.version if session else 0) - LOOK_BACK))
    except LogUnavailable:
        return ""
    turn = step_id.partition("-")[0]
    failures = (text for each in reversed(recent) if (text := _failure(each.event, turn, step_id, stream)))
    return redact(next(failures, ""))[:MAX_ERROR_CHARS]


def command_for(engine: Engine, stream: str, step_id: str) -> str:
    """The command that shows more of the step: of its turn, or else of its session or stream."""
    turn = step_id.partition("-")[0]
    session = engine.sessions.cached(stream) if is_session(stream) else None
    if session is None:
        return f"hermes-jobs log events --stream {stream}"
    is_turn = session.find(turn) is not None or turn in session.ended
    return f"hermes-jobs turns show {turn}" if is_turn else f"hermes-jobs sessions show {session.id}"


def _of_session(step: Step, session: Session) -> str:
    turn = session.find(root_of_step(step)) or session.current
    place = session.delegation_of(turn.id if turn is not None else None)
    call = turn.call(step.id) if turn is not None else None
    member = turn.reference(step.id) if turn is not None else None
    source = turn.source if turn is not None else ""
    return _shown(
        tool=name_of_tool(call.request.name) if call is not None else "",
        model=member.model if member is not None else _model(session, turn),
        ensemble=turn.ensemble if turn is not None else "",
        source="" if source.startswith((SOURCE, reviews.SOURCE)) else source,  # the task's name says it
        schedule=source.removeprefix(SOURCE) if source.startswith(SOURCE) else "",
        agent=(place.role or "child") if place is not None else "",
        session=session.id,
        root=place.payers[0].turn if place is not None else "",
    )


def _model(session: Session, turn: Turn | None) -> str:
    return (turn.model if turn is not None else None) or session.model or ""


def _failure(event: Event, turn: str, step_id: str, stream: str) -> str:
    match event:
        case (
            ModelCallFailed(step=step)
            | ReferenceFailed(step=step)
            | CompressionFailed(step=step)
            | HelperCallFailed(step=step)
        ) if step == step_id:
            return f"{event.kind}: {_first_line(event.message)}"
        case TurnFailed(turn=failed) if failed == turn:
            return f"{event.kind}: {_first_line(event.message)}"
        case _ if not is_session(stream):  # such as a delivery's
            return _first_line(getattr(event, "message", ""))
        case _:
            return ""


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _shown(**parts: str) -> str:
    """`name=value`, the most informative first; empty values are left out, long names cut."""
    return " ".join(f"{name}={value[:WORDS]}" for name, value in parts.items() if value)
