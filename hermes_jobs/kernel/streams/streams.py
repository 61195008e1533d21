"""Every kind of stream: its initial state, its fold, and its due steps.

| stream          | state            | events           |
|-----------------|------------------|-----------------|
| `session-ID`    | `Session`        | `SessionEvent`  |
| `windows`       | `LearnedWindows` | `WindowEvent`   |
| `pauses`        | `Pauses`         | `PauseEvent`    |
| `listener-NAME` | `Listener`       | `ListenerEvent` |
| `approvals`     | `ApprovalRules`  | `ApprovalRuleEvent` |
| `forgetting-ID` | `Forgetting`     | `ForgettingEvent` |
| `children`      | `ChildSlots`     | `ChildSlotEvent` |

A feature declares its own: `streams.py` in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from typing import Any

from hermes_jobs.errors import Corrupt, Rejected
from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.feature import parts
from hermes_jobs.kernel.streams import (
    approval_rules,
    budgets,
    child_slots,
    context_windows,
    forgetting,
    model_pauses,
    subscriptions,
)
from hermes_jobs.kernel.streams.accounts import Charge
from hermes_jobs.kernel.streams.decision import (
    Decision,
    DecisionResult,
    LargeResult,
    StateLoader,
    StreamEvents,
    UniqueKey,
)
from hermes_jobs.kernel.streams.stream_kind import About, StreamKind, StreamState
from hermes_jobs.kernel.turns import evolve as sessions
from hermes_jobs.kernel.turns.session import PREFIX, Session
from hermes_jobs.kernel.turns.steps import Step, next_steps

SESSIONS = PREFIX


_KINDS = (
    StreamKind(
        SESSIONS, Session, sessions.evolve, next_steps, budgets.charges, purpose=lambda _stream: "title"
    ),
    StreamKind(context_windows.STREAM, context_windows.LearnedWindows, context_windows.evolve),
    StreamKind(model_pauses.STREAM, model_pauses.Pauses, model_pauses.evolve),
    StreamKind(approval_rules.STREAM, approval_rules.ApprovalRules, approval_rules.evolve),
    StreamKind(child_slots.STREAM, child_slots.ChildSlots, child_slots.evolve),
    StreamKind(subscriptions.PREFIX, subscriptions.ListenerCursor, subscriptions.evolve_listener),
    StreamKind(forgetting.PREFIX, forgetting.Forgetting, forgetting.evolve),
)


@cache
def kinds() -> tuple[StreamKind, ...]:
    """All kinds, those of the features among them."""
    return (*_KINDS, *chain.from_iterable(parts("streams")))


@cache
def prefixes() -> tuple[str, ...]:
    """The prefixes of all kinds of streams."""
    return tuple(kind.prefix for kind in kinds())


def is_known(stream: str) -> bool:
    """Whether the stream is of a known kind; else it belongs to a feature that this installation lacks."""
    return stream.startswith(SESSIONS) or stream.startswith(prefixes())  # noqa: PIE810 - a session's loads no feature


def rest_of(state: StreamState, by: str) -> tuple[Event, ...]:
    """The events after which nothing of the stream is due, as its kind says."""
    return _kind_of(state.stream).rest(state, by)


def rests_as() -> tuple[str, ...]:
    """What streams that were put to rest are reported as, kind by kind."""
    return tuple(kind.rests_as for kind in kinds() if kind.rests_as)


def rested_as(stream: str) -> tuple[str, str]:
    """What the stream is reported as, once it was put to rest, empty for not at all; and its id."""
    kind = _kind_of(stream)
    return kind.rests_as, stream.removeprefix(kind.prefix)


def withholding() -> tuple[str, ...]:
    """The prefixes of the streams that take back what they allow, once they were imported."""
    return tuple(kind.prefix for kind in kinds() if kind.withheld is not None)


def withheld_of(state: StreamState, by: str) -> tuple[Event, ...]:
    """The events that take back what an imported stream allows, as its kind says."""
    withheld = _kind_of(state.stream).withheld
    return withheld(state, by) if withheld is not None else ()


def about_sessions() -> tuple[About, ...]:
    """How the streams that are about sessions say so, kind by kind."""
    return tuple(kind.about for kind in kinds() if kind.about is not None)


def nouns_about_sessions() -> dict[str, tuple[str, str]]:
    """The nouns of what is deleted with a session, by the beginning of its streams' names."""
    found = ((kind.prefix, kind.about.nouns) for kind in kinds() if kind.about is not None)
    return {prefix: nouns for prefix, nouns in found if any(nouns)}


def initial_state(stream: str) -> StreamState:
    """The state of a stream without events. Raises `Corrupt` for a name of no known kind."""
    return _kind_of(stream).state(stream=stream)


def fold(state: StreamState, events: Iterable[Event]) -> StreamState:
    """The state after those events, in order."""
    kind = _kind_of(state.stream)
    return kind.fold(state, events) if kind.fold is not None else reduce(kind.evolve, events, state)


def combine(changes: Sequence[Decision], *, all_or_none: bool = False) -> Decision:
    """One decision that combines several, each based on the state after the previous one. A rejected one only
    adds its reason to the answer; with `all_or_none` it rejects all.
    """

    def change(load: StateLoader) -> DecisionResult:
        states: dict[str, StreamState] = {}
        events: dict[str, tuple[Event, ...]] = {}
        answers: list[str] = []
        keys: list[UniqueKey] = []
        large_results: list[LargeResult] = []

        def loaded(stream: str) -> Any:
            return states.get(stream) or load(stream)

        for decision in changes:
            try:
                changed = decision(loaded)
            except Rejected as refused:
                if all_or_none:
                    raise
                answers.append(f"Error: {refused.for_model}")
                continue
            for write in changed.writes:
                states[write.stream] = fold(loaded(write.stream), write.events)
                events[write.stream] = (*events.get(write.stream, ()), *write.events)
            answers.append(changed.answer)
            keys.extend(changed.keys)
            large_results.extend(changed.large_results)
        writes = tuple(StreamEvents(stream, appended) for stream, appended in events.items())
        return DecisionResult(
            writes=writes, answer="\n".join(answers), keys=tuple(keys), large_results=tuple(large_results)
        )

    return change


def due_steps(state: StreamState) -> tuple[Step, ...]:
    """Every step of the stream that is due or under way, in a fixed order."""
    return _kind_of(state.stream).next_steps(state)


def charges(state: StreamState, events: Iterable[Event], today: Callable[[], str]) -> tuple[Charge, ...]:
    """The account changes of those events; `state` is that before them. See `budgets.charges`."""
    return _kind_of(state.stream).charges(state, events, today)


def secret_of(state: StreamState) -> str | None:
    """The name of the secret that a process must have to run the stream's due steps."""
    return _kind_of(state.stream).secret(state)


def labels_of(state: StreamState) -> Mapping[str, str]:
    """What Flower shows of the stream's due steps besides their ids; empty for most."""
    return _kind_of(state.stream).labels(state)


def purpose_of(stream: str) -> str:
    """The purpose of the stream's helper calls, as `usage` names it."""
    return _kind_of(stream).purpose(stream)


def _kind_of(stream: str) -> StreamKind:
    # A feature's modules are imported for its streams only.
    for known in (lambda: _KINDS, kinds):
        for kind in known():
            if stream.startswith(kind.prefix):
                return kind
    raise Corrupt(f"{stream!r} is not a stream of a known kind.")
