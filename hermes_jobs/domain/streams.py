"""Every kind of stream: its initial state, its fold, and its due steps.

| stream          | state            | events           |
|-----------------|------------------|-----------------|
| `session-ID`    | `Session`        | `SessionEvent`  |
| `memory`        | `Memory`         | `MemoryEvent`   |
| `skill-NAME`    | `Skill`          | `SkillEvent`    |
| `curation-ID`   | `Curation`       | `CurationEvent` |
| `schedule-ID`   | `Schedule`       | `ScheduleEvent` |
| `delivery-ID`   | `Delivery`       | `DeliveryEvent` |
| `person-NAME`   | `Person`         | `GatewayEvent`  |
| `gateway-ID`    | `Gateway`        | `GatewayEvent`  |
| `windows`       | `LearnedWindows` | `WindowEvent`   |
| `pauses`        | `Pauses`         | `PauseEvent`    |
| `listener-NAME` | `Listener`       | `ListenerEvent` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Protocol

import msgspec

from hermes_jobs.domain import context_windows, model_pauses, subscriptions
from hermes_jobs.domain import delivery as deliveries
from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.domain.events import Event
from hermes_jobs.domain.gateway import gateway as gateways
from hermes_jobs.domain.memory import memory as memories
from hermes_jobs.domain.schedule import schedule as schedules
from hermes_jobs.domain.session import evolve as sessions
from hermes_jobs.domain.session.session import PREFIX, Session
from hermes_jobs.domain.session.steps import Step, next_steps
from hermes_jobs.domain.skill import curation as curations
from hermes_jobs.domain.skill import skill as skills
from hermes_jobs.errors import Corrupt, Rejected

SESSIONS = PREFIX


class StreamState(Protocol):
    """The attributes that the states of all streams have in common."""

    @property
    def stream(self) -> str:
        """The stream's name."""

    @property
    def version(self) -> int:
        """The number of folded events."""


def _nothing_due(_state: Any) -> tuple[Step, ...]:
    return ()


class StreamKind(msgspec.Struct, frozen=True):
    """One kind of stream. `prefix` begins its streams' names; `state(stream=…)`
    is the state without events.
    """

    prefix: str
    state: Callable[..., StreamState]
    evolve: Callable[[Any, Any], StreamState]
    next_steps: Callable[[Any], tuple[Step, ...]] = _nothing_due


KINDS = (
    StreamKind(SESSIONS, Session, sessions.evolve, next_steps),
    StreamKind(memories.STREAM, memories.Memory, memories.evolve),
    StreamKind(skills.PREFIX, skills.Skill, skills.evolve),
    StreamKind(curations.PREFIX, curations.Curation, curations.evolve),
    StreamKind(schedules.PREFIX, schedules.Schedule, schedules.evolve, schedules.next_steps),
    StreamKind(deliveries.PREFIX, deliveries.Delivery, deliveries.evolve, deliveries.next_steps),
    StreamKind(gateways.PERSON_PREFIX, gateways.Person, gateways.evolve_person),
    StreamKind(gateways.PREFIX, gateways.Gateway, gateways.evolve),
    StreamKind(context_windows.STREAM, context_windows.LearnedWindows, context_windows.evolve),
    StreamKind(model_pauses.STREAM, model_pauses.Pauses, model_pauses.evolve),
    StreamKind(subscriptions.PREFIX, subscriptions.ListenerCursor, subscriptions.evolve_listener),
)


def initial_state(stream: str) -> StreamState:
    """The state of a stream without events. Raises `Corrupt` for a name of no known kind."""
    return _kind_of(stream).state(stream=stream)


def fold(state: StreamState, events: Iterable[Event]) -> StreamState:
    """The state after those events, in order."""
    return reduce(_kind_of(state.stream).evolve, events, state)


def combine(changes: Sequence[Decision]) -> Decision:
    """One decision that makes all of them, each on the state after the previous one. A rejected one only adds
    its reason to the answer.
    """

    def change(load: StateLoader) -> DecisionResult:
        states: dict[str, StreamState] = {}
        events: dict[str, tuple[Event, ...]] = {}
        answers: list[str] = []
        keys: list[UniqueKey] = []

        def loaded(stream: str) -> Any:
            return states.get(stream) or load(stream)

        for each in changes:
            try:
                changed = each(loaded)
            except Rejected as refused:
                answers.append(f"Error: {refused.for_model}")
                continue
            for write in changed.writes:
                states[write.stream] = fold(loaded(write.stream), write.events)
                events[write.stream] = (*events.get(write.stream, ()), *write.events)
            answers.append(changed.answer)
            keys.extend(changed.keys)
        writes = tuple(StreamEvents(stream, each) for stream, each in events.items())
        return DecisionResult(writes=writes, answer="\n".join(answers), keys=tuple(keys))

    return change


def due_steps(state: StreamState) -> tuple[Step, ...]:
    """Every step of the stream that is due or under way, in a fixed order."""
    return _kind_of(state.stream).next_steps(state)


def _kind_of(stream: str) -> StreamKind:
    for kind in KINDS:
        if stream.startswith(kind.prefix):
            return kind
    raise Corrupt(f"{stream!r} is no stream of a known kind.")
