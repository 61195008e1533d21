"""Delegation across streams: children and their parent are joined in one append at the start and at the end.

Every function here returns the events of other streams that follow from an event of one session.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.decision import DecisionResult, LargeResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns import children
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.outside import MAX_CHARS
from hermes_jobs.kernel.turns.session import OpenChild, Session, running_turn, stream_of
from hermes_jobs.kernel.turns.turn import Turn


def payers_of(session: Session, turn: Turn) -> tuple[e.Payer, ...]:
    """The turns that are charged for a child of the turn, the root's first."""
    place = session.delegation_of(turn.id)
    own = e.Payer(turn=turn.id, stream=session.stream, budget_usd=turn.budget_usd)
    return (*(place.payers if place else ()), own)


def first_texts(command: c.StartChildren, session: Session, load: StateLoader) -> tuple[StreamEvents, ...]:
    """The first text of every child, and the changes to the slots; none for a cancelled turn."""
    turn = running_turn(session)
    if turn.cancelled_by is not None:
        return ()
    payers = payers_of(session, turn)
    slots: ChildSlots = load(child_slots.STREAM)
    slot_events = child_slots.freed(slots, session.lineage) if command.waits else ()
    queued = tuple(e.QueuedChild(session=child.session, root=payers[0].turn) for child in command.children)
    events = (
        *slot_events,
        *child_slots.queued(child_slots.fold(slots, slot_events), queued, command.per_root, command.per_home),
    )
    after = child_slots.fold(slots, events)
    begun = tuple(_first_text(plan, command.step, session, turn, payers, after) for plan in command.children)
    return (*begun, StreamEvents(child_slots.STREAM, events))


def _first_text(
    plan: c.ChildPlan,
    call: str,
    session: Session,
    turn: Turn,
    payers: tuple[e.Payer, ...],
    slots: ChildSlots,
) -> StreamEvents:
    model = plan.model or turn.model or session.model
    mode = turn.mode or session.mode
    submitted = replace(
        _text_under(turn, plan.turn, plan.text, f"{children.PARENT}{session.lineage}", plan.session),
        model=model,
        toolsets=turn.toolsets if plan.fork else plan.toolsets,
        opening=e.Opening(
            kind="child",
            model=model,
            system=plan.system or None,
            workdir=plan.workdir or (session.started.workdir if session.started else None),
            toolsets=plan.toolsets,
            mode=mode if mode != "ask" else None,
            delegation=_place(plan, call, session, turn, payers),
        ),
        budget_usd=plan.budget_usd,
        approve=tuple(dict.fromkeys((*turn.approve, *session.approved))),
        answer_schema=plan.answer_schema,
        held=not slots.runs(plan.session),
    )
    forked = (_forked(plan, session, session.started),) if plan.fork and session.started else ()
    return StreamEvents(stream_of(plan.session), (*forked, submitted))


def _place(
    plan: c.ChildPlan, call: str, session: Session, turn: Turn, payers: tuple[e.Payer, ...]
) -> e.Delegation:
    own = session.delegation_of(turn.id)
    rounds = (plan.max_iterations, own.max_iterations if own else None)
    return e.Delegation(
        turn=plan.turn,
        parent=session.lineage,
        parent_turn=turn.id,
        call=call,
        payers=payers,
        depth=len(payers),
        role=plan.role,
        max_iterations=min((limit for limit in rounds if limit is not None), default=None),
        withheld=plan.withheld,
        model_is_fixed=plan.model_is_fixed,
        outside=session.outside,
    )


def _forked(plan: c.ChildPlan, session: Session, started: e.SessionStarted) -> e.SessionStarted:
    """The start of a child that continues from its parent's history."""
    return replace(
        started,
        session=plan.session,
        kind="child",
        parent=session.lineage,
        at=session.version,
        model=plan.model or session.model or started.model,
    )


def _text_under(turn: Turn, new: str, text: str, source: str, session: str) -> e.TurnSubmitted:
    """A text for a session; its turn has the permissions and settings of the given one."""
    return e.TurnSubmitted(
        turn=new,
        text=text,
        source=source,
        session=session,
        attended=turn.attended,
        unattended=turn.unattended,
        unwatched=turn.unwatched,
        mode=turn.mode,
        approve=turn.approve,
        toolsets=turn.toolsets,
        settings=turn.settings,
        requires=turn.requires,
        account=turn.account,
        account_usd=turn.account_usd,
    )


def slot_changes(child: Session, event: e.SessionEvent, load: StateLoader) -> Iterator[StreamEvents]:
    """The slot that an ended child frees."""
    assert isinstance(event, e.TurnEnd)
    if child.delegation_of(event.turn) is not None:
        slots: ChildSlots = load(child_slots.STREAM)
        if events := child_slots.freed(slots, child.lineage):
            yield StreamEvents(child_slots.STREAM, events)


def released(event: e.ChildSlotEvent, load: StateLoader) -> Iterator[StreamEvents]:
    """The turn of a queued child that now has a slot."""
    if not isinstance(event, e.ChildSlotTaken):
        return
    session: Session = load(stream_of(event.child))
    turn = session.current
    if turn is not None and turn.held and session.delegation_of(turn.id) is not None:
        yield StreamEvents(session.stream, (e.TurnReleased(turn=turn.id),))


def result_for_parent(
    child: Session, end: e.TurnEnd, recorded: e.UsageRecorded | None, load: StateLoader
) -> DecisionResult:
    """The child's end in its parent's stream; `recorded` is the usage in the same append."""
    place = child.delegation_of(end.turn)
    if place is None:
        return DecisionResult()
    return ended(load(stream_of(place.parent)), children.end_of(child, place, end, recorded), load)


def ended(parent: Session, event: e.ChildEnded, load: StateLoader) -> DecisionResult:
    """The end of a child in its parent's stream: part of a result, or a text of its own.

    The end of a child that was resumed, or whose parent no longer exists, is ignored.
    """
    child = next((candidate for candidate in parent.children if candidate.ref.session == event.child), None)
    if child is None:
        return DecisionResult()
    after = children.evolve(parent, event)
    if not child.waits:
        return _as_text(parent, child, event)
    waiting = children.waiting_call(after, event.turn, event.call)
    if waiting is None or len(waiting[1].child_ends) < len(waiting[1].children):
        return DecisionResult.of(parent.stream, event)
    turn, call = waiting
    finished, large_results = children.joined(turn, call)
    writes = [StreamEvents(parent.stream, (event, finished))]
    place = parent.delegation_of(turn.id)
    if place is not None and not any(other.waits_for_children for other in turn.calls if other.id != call.id):
        slots: ChildSlots = load(child_slots.STREAM)
        if slot_events := child_slots.retaken(slots, parent.lineage, place.payers[0].turn):
            writes.append(StreamEvents(child_slots.STREAM, slot_events))
    return DecisionResult(writes=tuple(writes), large_results=large_results)


def _as_text(parent: Session, child: OpenChild, event: e.ChildEnded) -> DecisionResult:
    """The end of a child for which no call waits, as a text that is collected with other such texts."""
    events: tuple[e.SessionEvent, ...] = (event,)
    large_results: tuple[LargeResult, ...] = ()
    parent_ended = parent.ended.get(child.parent_turn.id)
    is_cancelled = parent_ended is not None and parent_ended.status == "cancelled"
    running = parent.find(child.parent_turn.id)
    if running is not None and running.cancelled_by is not None:
        is_cancelled = True
    if parent.ended_because is None and not is_cancelled:
        text, large_results = children.text_of_end(child, event)
        source = f"{children.SOURCE}{child.ref.session}"
        submitted = _text_under(child.parent_turn, f"{child.ref.turn}e", text, source, parent.id)
        message = replace(
            submitted,
            if_busy="collect",
            deliver=child.parent_turn.deliver,
            outside=", ".join(event.outside)[:MAX_CHARS],
        )
        events = (event, message)
    return DecisionResult(writes=(StreamEvents(parent.stream, events),), large_results=large_results)


def cancelled_below(
    session: Session, event: e.TurnCancelRequested | e.TurnCancelled, load: StateLoader
) -> Iterator[DecisionResult]:
    """The cancellations of a cancelled turn's open children, in the same append."""
    for child in children.open_below(session, event.turn):
        stream = stream_of(child.ref.session)
        state: Session = load(stream)
        if state.version == 0:
            yield ended(load(session.stream), children.lost(child), load)
            continue
        try:
            events = decide(c.CancelTurn(turn=child.ref.turn, by=event.by), state)
        except Rejected:  # it has ended
            continue
        if events:
            yield DecisionResult.of(stream, *events)


def end_if_lost(parent: str, child: OpenChild, load: StateLoader) -> DecisionResult:
    """The end, in its parent's stream, of an open child that does not exist in this log."""
    state: Session = load(stream_of(child.ref.session))
    if state.find(child.ref.turn) is not None:
        return DecisionResult()
    return ended(load(parent), children.lost(child), load)


def place_for(session: Session, per_root: int, per_home: int, load: StateLoader) -> Iterator[StreamEvents]:
    """The slot, or the place in the queue, of a held child that has neither in this log."""
    turn = session.current
    place = session.delegation_of(turn.id) if turn is not None and turn.held else None
    slots: ChildSlots = load(child_slots.STREAM)
    if place is not None and not slots.knows(session.lineage):
        queued = e.QueuedChild(session=session.lineage, root=place.payers[0].turn)
        yield StreamEvents(child_slots.STREAM, child_slots.queued(slots, (queued,), per_root, per_home))
