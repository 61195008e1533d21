"""What was sent to the model with a call of a turn: built again from the session as it was at that event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hermes_jobs.domain.events import ModelCallStarted, ReferenceStarted
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.engine.ports import ModelRequest
from hermes_jobs.engine.repository import StreamRepository
from hermes_jobs.errors import Rejected
from hermes_jobs.eventlog.log import RecordedEvent

BuildRequest = Callable[[Session, Turn, str], ModelRequest]
"""The request of a turn's next model call, or of its reference with that id."""


class SentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A model call with its request. `number`: the how manieth of its turn, from 1; 0 for a member's."""

    step: str
    number: int
    attempt: int
    request: ModelRequest


def sent_request(
    sessions: StreamRepository,
    events: Sequence[RecordedEvent],
    turn: str,
    build: BuildRequest,
    step: str = "",
) -> SentRequest:
    """The request of the turn's last model call, or of the call `step`, with its last attempt.

    `events` are those of the turn's stream. Messages and the system prompt are as they were; the provider's
    own form of them is not in the log, and tools are described as `build` does now. Raises `Rejected`, kind
    `usage`, where there is no such call.
    """
    begun = [
        (recorded, recorded.event)
        for recorded in events
        if isinstance(recorded.event, ModelCallStarted | ReferenceStarted) and recorded.event.turn == turn
    ]
    calls = [(recorded, event) for recorded, event in begun if isinstance(event, ModelCallStarted)]
    steps = list(dict.fromkeys(event.step for _, event in calls))
    found = [(recorded, event) for recorded, event in (begun if step else calls) if step in {"", event.step}]
    if not found:
        raise _no_call(turn, step, list(dict.fromkeys(event.step for _, event in begun)))
    recorded, event = found[-1]
    session = sessions.load_at(recorded.stream, recorded.version)
    if session.current is None or session.started is None:
        raise Rejected(f"The log does not have the prompt of {event.step}.", kind="usage")
    return SentRequest(
        step=event.step,
        number=1 + steps.index(event.step) if event.step in steps else 0,
        attempt=event.attempt,
        request=build(session, session.current, event.step),
    )


def _no_call(turn: str, step: str, steps: Sequence[str]) -> Rejected:
    if not steps:
        return Rejected(f"Nothing was sent to a model in turn {turn} yet.", kind="usage")
    return Rejected(
        f"{step} is not a model call of turn {turn}.", kind="usage", hint=f"Its calls: {', '.join(steps)}."
    )
