"""What holds in every log whose work is done, whatever befell those who worked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from hermes_jobs.features.usage.tables.estimates import select_estimates
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.streams import fold
from hermes_jobs.kernel.views.views import Views

ENDS = (e.TurnCompleted, e.TurnFailed, e.TurnCancelled, e.TurnMerged)
RESULTS = (e.ToolFinished, e.ToolInterrupted)
BATCH = 1000


def history(log: EventLog) -> list[RecordedEvent]:
    """All events, in order."""
    found: list[RecordedEvent] = []
    while batch := log.tail(found[-1].position if found else 0, BATCH):
        found.extend(batch)
    return found


def facts_of(log: EventLog) -> list[e.Event]:
    """All facts, in order."""
    return [recorded.event for recorded in history(log)]


def assert_all_is_done_once(log: EventLog, acknowledged: Iterable[str]) -> None:
    """Every accepted text ended once, nothing acknowledged is missing, no call has two results, no write
    started twice, nothing is left to do, and the log is what was written."""
    facts = facts_of(log)
    assert not log.steps(), "something is still due"
    submitted = [fact.turn for fact in facts if isinstance(fact, e.TurnSubmitted)]
    ends = Counter(fact.turn for fact in facts if isinstance(fact, ENDS))
    assert ends == Counter(submitted), "a turn did not end exactly once"
    assert set(acknowledged) <= set(submitted), "an acknowledged turn is missing"
    writes = Counter(f.call for f in facts if isinstance(f, e.ToolStarted) and f.effect == "write")
    assert all(times == 1 for times in writes.values()), "a write was started twice"
    results = Counter(fact.call for fact in facts if isinstance(fact, RESULTS))
    asked = {plan.call for fact in facts if isinstance(fact, e.ModelReplied) for plan in fact.plan}
    assert all(times == 1 for times in results.values()), "a call has two results"
    assert set(results) == asked, "a call has no result"
    assert isinstance(log, SqlEventLog)
    report = verify(log)
    assert report.is_sound, report.findings


def assert_children_ended_once(log: EventLog) -> Counter[str]:
    """Every child had one end, which its parent was told of once, as what it was; no place is taken. How many
    ended how."""
    facts = facts_of(log)
    begun = [ref for fact in facts if isinstance(fact, e.ChildrenStarted) for ref in fact.children]
    told = [fact for fact in facts if isinstance(fact, e.ChildEnded)]
    assert Counter(fact.child for fact in told) == Counter(ref.session for ref in begun)
    ends = {fact.turn: type(fact) for fact in facts if isinstance(fact, ENDS)}
    status = {fact.child: fact.status for fact in told}
    for ref in begun:
        assert (status[ref.session] == "completed") <= (ends[ref.turn] is e.TurnCompleted), ref
        assert (status[ref.session] == "cancelled") == (ends[ref.turn] is e.TurnCancelled), ref
    slots = fold(ChildSlots(), [recorded.event for recorded in log.read(child_slots.STREAM)])
    assert isinstance(slots, ChildSlots)
    assert (slots.running, slots.waiting) == ((), ())
    return Counter(status.values())


def assert_one_turn_at_a_time(log: EventLog, stream: str) -> None:
    """The stream's turns began and ended in the order of their texts, none beside another."""
    facts = [recorded.event for recorded in log.read(stream)]
    submitted = [fact.turn for fact in facts if isinstance(fact, e.TurnSubmitted)]
    others = [f.turn for f in facts if not isinstance(f, e.TurnSubmitted) and hasattr(f, "turn")]
    worked_on = [turn for turn, _ in groupby(turn for turn in others if turn in submitted)]  # not a review's
    assert worked_on == submitted


def counted(file: Path) -> Counter[str]:
    """How often each line stands in a file to which tools append: their effects, counted outside."""
    return Counter(file.read_text().split()) if file.exists() else Counter()


def assert_at_most_once(times: Counter[str], known: Sequence[str]) -> None:
    """No effect happened twice, and none that nobody asked for."""
    assert not [line for line, count in times.items() if count > 1], "an effect happened twice"
    assert set(times) <= set(known)


def assert_views_agree(log: EventLog, folder: Path) -> None:
    """What the views took in as it came is what a rebuild makes of the log."""
    views = Views(log, folder)
    try:
        views.catch_up()
        incremental = _everything(views)
        views.rebuild()
        assert _everything(views) == incremental
    finally:
        views.close()


def _everything(views: Views) -> tuple[object, ...]:
    sessions = views.sessions(hidden=True, limit=10_000)
    turns = tuple(views.turn(turn.id) for turn in views.turns(hidden=True, limit=10_000))
    said = tuple(views.messages(session.id) for session in sessions)
    return (sessions, turns, said, views.read(select_spending, by="purpose"), views.read(select_estimates))
