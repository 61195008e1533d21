"""Effects of a session's events on other streams, in the same append: of ended runs, children, features."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.feature import parts
from hermes_jobs.kernel.streams import approval_rules, delegation
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.decision import DecisionResult, LargeResult, StateLoader, StreamEvents
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import fold
from hermes_jobs.kernel.turns import review_rules
from hermes_jobs.kernel.turns import session as sessions
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn


def with_reactions(writes: Iterable[StreamEvents], load: StateLoader) -> DecisionResult:
    """The writes with all their effects on other streams, and the effects of those.

    Each stream is in the result once. Raises `Rejected` if a resumed review would run beside another one.
    """
    cascade = _Cascade(load)
    for write in writes:
        cascade.add(write)
    while cascade.pending:
        before, events = cascade.pending.popleft()
        for reaction in _reactions(before, events, cascade.load):
            cascade.large_results.extend(reaction.large_results)
            for write in reaction.writes:
                cascade.add(write)
    combined = tuple(StreamEvents(stream, recorded) for stream, recorded in cascade.events.items())
    return DecisionResult(writes=combined, large_results=tuple(cascade.large_results))


class _Cascade:
    """The writes so far, and the states after them: each reaction is decided on those."""

    def __init__(self, load: StateLoader) -> None:
        self._load = load
        self._folded: dict[str, StreamState] = {}
        self._unfolded: dict[str, tuple[e.Event, ...]] = {}
        self.events: dict[str, tuple[e.Event, ...]] = {}
        self.large_results: list[LargeResult] = []
        self.pending: deque[tuple[StreamState, tuple[e.Event, ...]]] = deque()

    def load(self, stream: str) -> Any:
        """The stream's state after the writes so far; it is folded on first use."""
        state = self._folded.get(stream) or self._load(stream)
        events = self._unfolded.pop(stream, ())
        if events:
            state = self._folded[stream] = fold(state, events)
        return state

    def add(self, write: StreamEvents) -> None:
        """Add a write; its own reactions follow later."""
        if not write.events:
            return
        before: StreamState = self.load(write.stream)
        self._unfolded[write.stream] = write.events
        self.events[write.stream] = (*self.events.get(write.stream, ()), *write.events)
        self.pending.append((before, write.events))


def _reactions(before: StreamState, events: Sequence[e.Event], load: StateLoader) -> Iterator[DecisionResult]:
    """The effects of these events on other streams, in order; `before` is the state before them."""
    if isinstance(before, Session):
        recorded = {record.turn: record for record in events if isinstance(record, e.UsageRecorded)}
        for version, event in enumerate(cast("Sequence[e.SessionEvent]", events), before.version):
            yield from _of_session(before, version, event, load)
            if isinstance(event, e.FilesDelivered):  # they go with the answer that may end the same append
                before = cast("Session", fold(before, (event,)))
            if isinstance(event, e.TurnEnd):
                yield delegation.result_for_parent(before, event, recorded.get(event.turn), load)
                yield _all(delegation.slot_changes(before, event, load))
    elif isinstance(before, ChildSlots):
        for change in cast("Sequence[e.ChildSlotEvent]", events):
            yield _all(delegation.released(change, load))


def _of_session(
    session: Session, version: int, event: e.SessionEvent, load: StateLoader
) -> Iterator[DecisionResult]:
    if isinstance(event, e.TurnResumed):
        yield _all(_review_resumed(session, event, load))
    if isinstance(event, e.ApprovalGiven) and event.scope == "always" and event.calls is not None:
        yield approval_rules.add_rule("allow", event.calls, by=event.by)(load)
    if isinstance(event, e.TurnCancelRequested | e.TurnCancelled):
        yield from delegation.cancelled_below(session, event, load)
    if isinstance(event, e.TurnEnd):
        turn = session.find(event.turn)
        if turn is not None and review_rules.is_its_turn(session, turn):
            yield _all(_review_ended(session, turn, event))
    for react in parts("reaction"):
        yield _all(react(session, version, event, load))
    if isinstance(event, e.TurnEnd):  # last: that a schedule pauses itself is told after the answer
        for react_to_end in parts("turn_end"):
            yield _all(react_to_end(session, event, load))


def _all(writes: Iterable[StreamEvents]) -> DecisionResult:
    return DecisionResult(writes=tuple(writes))


def _review_resumed(session: Session, resumed: e.TurnResumed, load: StateLoader) -> Iterator[StreamEvents]:
    turn = review_rules.open_or_resumable_turn(session, resumed.turn)
    if turn is None or not review_rules.is_its_turn(session, turn) or session.forked_from is None:
        return
    stream = sessions.stream_of(session.forked_from)
    event = review_rules.resumed(session.lineage, resumed.turn, load(stream))
    yield StreamEvents(stream, (event,))


def _review_ended(session: Session, turn: Turn, end: e.TurnEnd) -> Iterator[StreamEvents]:
    if session.forked_from is None:
        return
    event = review_rules.end_of(session.lineage, turn, end)
    yield StreamEvents(sessions.stream_of(session.forked_from), (event,))
