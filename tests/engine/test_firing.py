"""Due times over a real log: claimed, decided and written once, whoever looks and whatever goes away."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.commands import Add, Edit, RunNow
from hermes_jobs.features.schedules.rules.runs import Run
from hermes_jobs.features.schedules.rules.schedule import Schedule, stream_of
from hermes_jobs.features.schedules.steps import FireSchedule
from hermes_jobs.features.schedules.tables import select_runs, select_schedules
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers import CallModel, Prefetch, RecordUsage, RunTool
from hermes_jobs.kernel.engine.ports import Cancel, ConfiguredModel, same_for_all
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.system.ids import RandomIds
from tests.engine.simulation import (
    LIMITS,
    Gates,
    NoPrices,
    Outage,
    PlainPrompt,
    ShiftedClock,
    SimulatedModel,
    SimulatedToolbox,
    Wakes,
)
from tests.planning.world import HOUR, MINUTE, MONDAY, PLAN

DUE = MONDAY + MINUTE


class Office:
    """One log, one true time, and processes whose clocks may be wrong."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.time = MONDAY
        self.wakes = Wakes()

    def engine(self, worker: str = "w", *, offset: float = 0.0, log: Any = None) -> Engine:
        clock = ShiftedClock(lambda: self.time)
        clock.offset = offset
        ids, gates = RandomIds(), Gates()
        tools = SimulatedToolbox(gates)
        call_model = CallModel(
            models=same_for_all(ConfiguredModel(model=SimulatedModel(gates, []), pricing=NoPrices())),
            toolbox=tools,
            retry=lambda kind, retries, retry_after, fraction: None,
            clock=clock,
            ids=ids,
            limits=LIMITS,
            on_delta=lambda piece: None,
        )
        return Engine(
            log=log or self.log,
            worker=worker,
            clock=clock,
            ids=ids,
            dispatcher=self.wakes,
            parts=StepParts(
                handlers={
                    "turn.prefetch": Prefetch(PlainPrompt(), LIMITS, clock=clock, ids=ids),
                    "turn.call_model": call_model,
                    "turn.run_tool": RunTool(tools),
                    "turn.record_usage": RecordUsage(),
                    "schedule.fire": FireSchedule(clock, ids),
                }
            ),
        )

    def add(self, **changes: Any) -> None:
        plan = replace(PLAN, **{"timing": "* * * * *", **changes})
        self.engine("cli").change(Add(schedule="p1", now=self.time, plan=plan), "test")

    def work(self, engine: Engine) -> None:
        """Perform what is due until nothing is, besides deliveries."""
        while due := [
            row.step for row in self.log.due(engine.clock.now()) if row.step.queue in {"turns", "schedules"}
        ]:
            engine.run(due[0].stream, due[0].id)

    @property
    def schedule(self) -> Schedule:
        state = self.engine().state(stream_of("p1"))
        assert isinstance(state, Schedule)
        return state

    def of(self, kind: type[Any]) -> list[Any]:
        return [each.event for each in self.log.tail() if isinstance(each.event, kind)]


@pytest.fixture
def office(log: SqlEventLog) -> Office:
    return Office(log)


def test_a_due_time_becomes_a_turn_that_is_worked_on_to_its_end(office: Office, log: SqlEventLog) -> None:
    office.add()
    office.time = DUE
    office.work(office.engine())

    kinds = [each.type for each in log.tail()]
    assert kinds[:3] == ["ScheduleAdded", "TurnSubmitted", "ScheduleFired"]
    assert kinds[-1] == "DeliveryRequested" or "ScheduleRunEnded" in kinds
    assert [(each.status, each.turn) for each in office.of(schedules_events.ScheduleRunEnded)] == [
        ("completed", office.of(schedules_events.ScheduleFired)[0].turn)
    ]
    key = log.key("schedule", f"p1@{DUE:.0f}")
    assert key is not None
    (submitted,) = log.tail(key.position - 1, 1)
    assert submitted.type == "TurnSubmitted"
    assert verify(log).is_sound


def test_the_turns_first_step_is_woken_by_whoever_fired(office: Office) -> None:
    office.add()
    office.time = DUE
    (row,) = office.log.due(office.time)
    office.engine().run(row.step.stream, row.step.id)

    assert [step.kind for step in office.wakes.waiting] == ["turn.prefetch"]


def test_a_step_that_is_looked_at_too_early_stays_due(office: Office) -> None:
    office.add()
    (row,) = office.log.due(DUE)

    assert office.engine().run(row.step.stream, row.step.id) == "not_yet"
    assert office.of(schedules_events.ScheduleFired) == []


def test_clocks_that_are_wrong_both_ways_give_each_due_time_one_run(office: Office) -> None:
    office.add(timing="*/10 * * * *")
    engines = [office.engine(f"w{at}", offset=offset) for at, offset in enumerate((0.0, HOUR, -HOUR))]
    for minute in range(0, 150, 5):
        office.time = MONDAY + minute * MINUTE
        for engine in engines:
            office.work(engine)

    fired = [each.due for each in office.of(schedules_events.ScheduleFired)]
    num_missed = sum(each.count for each in office.of(schedules_events.ScheduleMissed))
    next_due = office.schedule.next_due
    assert next_due is not None
    assert next_due > office.time + HOUR
    assert len(set(fired)) == len(fired)
    assert len(fired) + num_missed == (next_due - MONDAY) / (10 * MINUTE) - 1


@pytest.mark.slow
def test_threads_of_several_processes_that_look_at_once_give_it_one_run(office: Office) -> None:
    office.add()
    office.time = DUE
    (row,) = office.log.due(office.time)
    engines = [office.engine(f"w{at}") for at in range(4)]

    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda at: engines[at % 4].run(row.step.stream, row.step.id), range(12)))

    assert done.count("done") == 1
    assert len(office.of(schedules_events.ScheduleFired)) == len(office.of(e.TurnSubmitted)) == 1


def test_an_edit_between_claim_and_append_wins_and_the_old_time_has_no_run(office: Office) -> None:
    office.add()
    office.time = DUE
    (row,) = office.log.due(office.time)
    other = office.engine("cli")
    edit = Edit(
        schedule="p1", now=office.time, replan=lambda plan: replace(plan, timing="0 9 * * *", name="Nine")
    )
    engine = office.engine()
    engine._parts = StepParts(handlers={"schedule.fire": _Late(engine, lambda: other.change(edit, "test"))})

    assert engine.run(row.step.stream, row.step.id) == "discarded"
    assert office.of(schedules_events.ScheduleFired) == []
    assert office.schedule.next_due == MONDAY + 9 * HOUR
    assert [step.step.not_before for step in office.log.steps(stream_of("p1"))] == [MONDAY + 9 * HOUR]


class _Late:
    """The job of a process that something overtakes after its claim."""

    def __init__(self, engine: Engine, overtakes: Callable[[], object]) -> None:
        self._job = FireSchedule(engine.clock, engine.ids)
        self._overtakes = overtakes

    def run(self, state: Any, step: Step, cancel: Cancel) -> Decision:
        change = self._job.run(state, step, cancel)
        self._overtakes()
        return change


@pytest.mark.parametrize("recorded", [False, True], ids=["lost", "recorded"])
@pytest.mark.parametrize("at", [1, 2], ids=["claim", "outcome"])
def test_a_run_whose_append_failed_is_written_once_after_the_outage(
    office: Office, at: int, recorded: bool
) -> None:
    office.add()
    office.time = DUE
    engine = office.engine(log=Outage(office.log, at, recorded=recorded))
    (row,) = office.log.due(office.time)

    with pytest.raises(LogUnavailable):
        engine.run(row.step.stream, row.step.id)
    assert engine.retry_unsaved() == 0
    office.work(engine)
    assert len(office.of(schedules_events.ScheduleFired)) == 1


def test_a_run_that_could_not_read_the_log_is_due_again(office: Office) -> None:
    office.add()
    office.time = DUE
    engine = office.engine()
    (row,) = office.log.due(office.time)

    def cut() -> None:
        raise LogUnavailable("The log is away.")

    parts, engine._parts = engine._parts, StepParts(handlers={"schedule.fire": _Late(engine, cut)})
    assert engine.run(row.step.stream, row.step.id) == "abandoned"
    engine._parts = parts
    office.work(engine)
    assert len(office.of(schedules_events.ScheduleFired)) == 1


def test_a_step_that_cannot_be_decided_about_is_given_back(office: Office) -> None:
    office.add()
    office.time = DUE
    engine = office.engine()
    (row,) = office.log.due(office.time)

    def stumble() -> None:
        raise RuntimeError("a mistake in this program")

    engine._parts = StepParts(handlers={"schedule.fire": _Late(engine, stumble)})
    assert engine.run(row.step.stream, row.step.id) == "abandoned"
    assert office.engine("other").run(row.step.stream, row.step.id) == "done"


def test_the_views_list_the_outcome_of_each_due_time(office: Office, tmp_path: Path) -> None:
    office.add(deliver=("cli", "file:/srv/notes.md"))
    engine = office.engine()
    office.time = DUE
    office.work(engine)
    office.time = MONDAY + 5 * HOUR
    office.work(engine)
    office.engine("cli").change(
        RunNow(schedule="p1", now=office.time, run=Run(turn="tx", session="sx")), "test"
    )
    views = Views(office.log, tmp_path / "views")
    try:
        (view,) = views.read(select_schedules)
        runs = views.read(select_runs, "p1")
        assert views.find_schedule("notifications") == views.find_schedule("p") == "p1"
    finally:
        views.close()

    assert (view.num_runs, view.num_missed, view.status) == (3, 298, "active")
    assert [(run.outcome, run.by, run.count) for run in runs] == [
        ("running", "user", 1),
        ("completed", "clock", 1),
        ("missed", "clock", 298),
        ("completed", "clock", 1),
    ]
    assert [each.target for each in runs[-1].deliveries] == ["cli", "file:/srv/notes.md"]
    assert view.last == runs[0]
    assert view.running == ("tx",)
    assert view.totals.num_model_calls == 2
