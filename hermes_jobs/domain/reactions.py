"""Effects of a session's events on other streams, in the same append: ended runs, requested deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hermes_jobs.domain import delivery as deliveries
from hermes_jobs.domain import events as e
from hermes_jobs.domain.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.domain.gateway.news import told_at_once, with_news
from hermes_jobs.domain.schedule import schedule as schedules
from hermes_jobs.domain.session import review_rules
from hermes_jobs.domain.session import session as sessions
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.turn import Turn

FAILED = "This request failed: {message}"
PAUSED = (
    "The schedule «{name}» has paused itself: {reason} "
    "`hermes-jobs schedule resume {schedule}` lets it go on."
)


def reactions(session: Session, events: Iterable[e.SessionEvent], load: StateLoader) -> DecisionResult:
    """The further events to append with those; `session` is the state before them.

    Raises `Rejected` where a resumed review would run beside another one.
    """
    writes: list[StreamEvents] = []
    for version, event in enumerate(events, session.version):
        if isinstance(event, e.TurnResumed):
            writes.extend(_review_taken_up(session, event, load))
        if told := told_at_once(event):
            writes.extend(_notices(session, event, told, f"n{version}"))
        if not isinstance(event, e.TurnEnd):
            continue
        turn = session.find(event.turn)
        if turn is not None and review_rules.is_its_turn(session, turn):
            writes.extend(_review_ended(session, turn, event))
        elif turn is not None:
            writes.extend(_deliveries(session, turn, event))
            writes.extend(_run_ended(session, turn, event, load))
    return DecisionResult(writes=tuple(writes))


def _notices(
    session: Session, event: e.SessionEvent, lines: Sequence[str], suffix: str
) -> Iterator[StreamEvents]:
    """Deliveries of notices to chats."""
    turn = session.current
    if turn is None or turn.id != getattr(event, "turn", None):
        return
    chats = tuple(target for target in turn.deliver if _is_chat(turn, target))
    text = "\n".join(f"({line[0].upper()}{line[1:]}.)" for line in lines)
    told = replace(turn, deliver=chats)
    yield from _requested(session, told, text, ok=True, suffix=suffix)


def _run_ended(session: Session, turn: Turn, end: e.TurnEnd, load: StateLoader) -> Iterator[StreamEvents]:
    if not turn.source.startswith(schedules.SOURCE):
        return
    stream = schedules.stream_of(turn.source.removeprefix(schedules.SOURCE))
    schedule: schedules.Schedule = load(stream)
    if schedule.plan is None:
        return
    if isinstance(end, e.TurnCompleted):
        events = schedules.run_ended(schedule, turn.id, "completed", "")
    elif isinstance(end, e.TurnFailed):
        events = schedules.run_ended(schedule, turn.id, "failed", end.message)
    else:
        events = schedules.run_ended(schedule, turn.id, "cancelled", f"cancelled by {end.by}")
    yield StreamEvents(stream, events)
    paused = events[-1]
    if isinstance(paused, e.SchedulePaused):
        text = PAUSED.format(name=schedule.plan.name, reason=paused.reason, schedule=schedule.id)
        yield from _requested(session, turn, text, ok=False, suffix="p")


def _review_taken_up(session: Session, resumed: e.TurnResumed, load: StateLoader) -> Iterator[StreamEvents]:
    turn = review_rules.known_turn(session, resumed.turn)
    if turn is None or not review_rules.is_its_turn(session, turn) or session.forked_from is None:
        return
    stream = sessions.stream_of(session.forked_from)
    event = review_rules.taken_up(session.lineage, resumed.turn, load(stream))
    yield StreamEvents(stream, (event,))


def _review_ended(session: Session, turn: Turn, end: e.TurnEnd) -> Iterator[StreamEvents]:
    if session.forked_from is None:
        return
    event = review_rules.end_of(session.lineage, turn, end)
    yield StreamEvents(sessions.stream_of(session.forked_from), (event,))


def _deliveries(session: Session, turn: Turn, end: e.TurnEnd) -> Iterator[StreamEvents]:
    if isinstance(end, e.TurnCancelled):
        return
    ok = isinstance(end, e.TurnCompleted)
    text = end.answer if isinstance(end, e.TurnCompleted) else FAILED.format(message=end.message)
    if text.strip() == deliveries.SILENT:
        return
    yield from _requested(session, turn, text, ok=ok, news=session.news)


def _requested(
    session: Session, turn: Turn, text: str, *, ok: bool, suffix: str = "", news: tuple[str, ...] = ()
) -> Iterator[StreamEvents]:
    """Deliveries of the text to each of the turn's targets; those to chats carry the notices."""
    for index, target in enumerate(turn.deliver):
        told = with_news(text, news) if _is_chat(turn, target) else text
        # A resumed turn delivers again, under another id.
        delivery = f"d{turn.id}x{turn.times_resumed}x{index}{suffix}"
        requested = e.DeliveryRequested(
            delivery=delivery,
            target=target,
            turn=turn.id,
            session=session.id,
            text=told,
            source=turn.source,
            ok=ok,
            workdir=_workdir(session),
        )
        yield StreamEvents(deliveries.stream_of(delivery), (requested,))


def _is_chat(turn: Turn, target: str) -> bool:
    """Whether the turn was sent from the chat that is the target."""
    return target.partition(":")[0] == turn.source


def _workdir(session: Session) -> str | None:
    if session.started is not None:
        return session.started.workdir
    return session.opening.workdir if session.opening else None
