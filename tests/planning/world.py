"""Schedules and their sessions driven by hand, with a clock that goes wherever a test wants it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, takewhile
from typing import Any

from msgspec.structs import replace

from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.commands import Add, Edit, Pause, Remove, Replan, Resume, RunNow
from hermes_jobs.features.schedules.rules.runs import MOST_COUNTED, Fire, Run
from hermes_jobs.features.schedules.rules.schedule import Schedule, stream_of
from hermes_jobs.features.schedules.rules.timing import TimingInZone, rule_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import due_steps, fold, initial_state
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.session import stream_of as session_stream
from hermes_jobs.kernel.turns.steps import Step

MONDAY = 1_795_392_000.0
"""2026-11-23 00:00 UTC."""
MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0

PLAN = schedules_events.Plan(
    name="Notifications",
    text="Check my notifications.",
    kind="cron",
    timing="0 9 * * *",
    timezone="UTC",
)


class World:
    """One schedule `p1`, the sessions of its runs, and everything that was written."""

    def __init__(self, plan: schedules_events.Plan = PLAN, *, now: float = MONDAY, **changes: Any) -> None:
        self.now = now
        self.facts: list[e.Event] = []
        self.keys: set[tuple[str, str]] = set()
        self._states: dict[str, StreamState] = {}
        self._numbers = count(1)
        self.do(Add(schedule="p1", now=now, plan=replace(plan, **changes)))

    def load(self, stream: str) -> Any:
        """The `Load` of the changes."""
        return self._states.get(stream) or initial_state(stream)

    def do(self, change: Decision) -> DecisionResult:
        """Decide and write, as an append would: each key once."""
        changed = change(self.load)
        self._take_keys(changed.keys)
        for each in changed.writes:
            self.write(each.stream, *each.events)
        return changed

    def write(self, stream: str, *facts: e.Event) -> None:
        """Facts as they are."""
        self._states[stream] = fold(self.load(stream), facts)
        self.facts.extend(facts)

    def _take_keys(self, keys: Sequence[UniqueKey]) -> None:
        for key in keys:
            assert (key.scope, key.key) not in self.keys, f"{key} was used before"
            self.keys.add((key.scope, key.key))

    # --- the schedule ---------------------------------------------------------------------------

    @property
    def schedule(self) -> Schedule:
        state = self.load(stream_of("p1"))
        assert isinstance(state, Schedule)
        return state

    @property
    def plan(self) -> schedules_events.Plan:
        assert self.schedule.plan is not None
        return self.schedule.plan

    @property
    def rule(self) -> TimingInZone:
        return rule_of(self.plan)

    @property
    def schedule_steps(self) -> tuple[Step, ...]:
        """What is due, now or later."""
        return due_steps(self.schedule)

    @property
    def due(self) -> tuple[Step, ...]:
        """The steps whose time has come."""
        return tuple(step for step in self.schedule_steps if step.not_before <= self.now)

    def look(self) -> None:
        """Perform every step that is due, until none is."""
        while self.due:
            self.fire(self.due[0])

    def fire(self, step: Step, *, now: float | None = None) -> DecisionResult:
        """Perform one step, whether it is due or not."""
        seen = self.now if now is None else now
        return self.do(Fire(stream=step.stream, due=step.not_before, now=seen, run=self.run_ids()))

    def run_ids(self) -> Run:
        number = next(self._numbers)
        return Run(turn=f"t{number}", session=f"s{number}")

    def edit(self, **changes: Any) -> None:
        replan: Replan = lambda plan: replace(plan, **changes)  # noqa: E731 - short for its one use
        self.do(Edit(schedule="p1", now=self.now, replan=replan))

    def pause(self) -> None:
        self.do(Pause(schedule="p1", now=self.now))

    def resume(self) -> None:
        self.do(Resume(schedule="p1", now=self.now))

    def remove(self) -> None:
        self.do(Remove(schedule="p1", now=self.now))

    def run_now(self) -> None:
        self.do(RunNow(schedule="p1", now=self.now, run=self.run_ids()))

    # --- its runs -------------------------------------------------------------------------------

    def session(self, name: str) -> Session:
        state = self.load(session_stream(name))
        assert isinstance(state, Session)
        return state

    def end_run(self, turn: str | None = None, *, failed: str = "", cancelled: bool = False) -> None:
        """The oldest run that has not ended, or that one, ends."""
        turn = turn or self.schedule.running[0]
        fired = next(each for each in self.of(schedules_events.ScheduleFired) if each.turn == turn)
        end: e.SessionEvent = e.TurnCompleted(turn=turn, answer="done")
        if failed:
            end = e.TurnFailed(turn=turn, kind="server", message=failed)
        if cancelled:
            end = e.TurnCancelled(turn=turn, by="user")
        self.tell(fired.session, end)

    def tell(self, session: str, *facts: e.SessionEvent) -> None:
        """Facts of a session, with what they mean for other streams."""
        before = self.session(session)
        self.do(lambda load: with_reactions([StreamEvents(before.stream, facts)], load))

    # --- what happened --------------------------------------------------------------------------

    def of(self, kind: type[Any]) -> list[Any]:
        """All facts of a type."""
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @property
    def fired(self) -> list[float]:
        """The due times that the clock has had runs for, in that order."""
        return [each.due for each in self.of(schedules_events.ScheduleFired) if each.by == "clock"]

    @property
    def missed(self) -> list[float]:
        """Each due time that was said to be missed."""
        found: list[float] = []
        for each in self.of(schedules_events.ScheduleMissed):
            until = each.due if each.until is None else each.until
            dues = tuple(takewhile(lambda due: due <= until, self.rule.following(each.due)))  # noqa: B023
            assert dues[-1] == until
            assert each.count == min(len(dues), MOST_COUNTED)
            found.extend(dues)
        return found
