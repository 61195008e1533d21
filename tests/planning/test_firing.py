"""What becomes of due times: runs, queues, misses."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.runs import CATCH_UP, MOST_COUNTED
from hermes_jobs.features.schedules.rules.schedule import MAX_FAILURES
from hermes_jobs.kernel import events as e
from tests.planning.world import DAY, HOUR, MINUTE, MONDAY, PLAN, World

NINE = MONDAY + 9 * HOUR


def test_a_due_time_becomes_a_turn_in_a_session_of_its_own() -> None:
    world = World(
        model="m", toolsets=("web",), workdir="/srv/work", deliver=("cli", "file:/srv/work/notes.md")
    )
    world.now = NINE
    world.look()

    (fired,) = world.of(schedules_events.ScheduleFired)
    (submitted,) = world.of(e.TurnSubmitted)
    assert (fired.due, fired.turn, fired.session, fired.next_due) == (NINE, "t1", "s1", NINE + DAY)
    assert submitted == e.TurnSubmitted(
        turn="t1",
        text="Check my notifications.",
        source="schedule:p1",
        session="s1",
        attended=False,
        opening=e.Opening(
            kind="scheduled",
            model="m",
            workdir="/srv/work",
            toolsets=("web",),
            title="Notifications (2026-11-23 09:00)",
        ),
        deliver=("cli", "file:/srv/work/notes.md"),
    )
    assert world.keys == {("schedule", f"p1@{NINE:.0f}")}


def test_a_continued_session_gets_each_run_after_its_current_turn() -> None:
    world = World()
    world.tell("s0", e.TurnSubmitted(turn="t0", text="hello", source="cli", session="s0"))
    world.edit(session="s0", model="m2")
    world.now = NINE
    world.look()

    session = world.session("s0")
    assert session.current is not None
    assert session.current.id == "t0"
    assert [(turn.texts, turn.model, turn.attended) for turn in session.waiting] == [
        (("Check my notifications.",), "m2", False)
    ]


def test_where_the_continued_session_has_ended_the_schedule_pauses_itself_and_says_why() -> None:
    world = World()
    world.tell("s0", e.TurnSubmitted(turn="t0", text="hello", source="cli", session="s0"))
    world.edit(session="s0")
    world.tell("s0", e.TurnCompleted(turn="t0", answer="hi"), e.SessionEnded(session="s0", reason="user"))
    world.now = NINE
    world.look()

    assert world.fired == []
    assert [(each.due, each.reason) for each in world.of(schedules_events.ScheduleMissed)] == [
        (NINE, "session_ended")
    ]
    assert world.schedule.status == "paused"
    assert "Session s0 has ended" in world.schedule.pause_reason


# --- late -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("late", "runs"), [(20.0, True), (2 * HOUR, True), (2 * HOUR + 1, False), (11 * HOUR, False)]
)
def test_a_missed_run_is_made_up_for_within_two_hours(late: float, runs: bool) -> None:
    world = World()
    world.now = NINE + late
    world.look()

    assert world.fired == ([NINE] if runs else [])
    assert world.missed == ([] if runs else [NINE])
    assert world.schedule.next_due == NINE + DAY


@pytest.mark.parametrize(("late", "runs"), [(15 * MINUTE, True), (15 * MINUTE + 1, False)])
def test_a_missed_run_is_made_up_for_within_half_its_period(late: float, runs: bool) -> None:
    world = World(timing="*/30 * * * *")
    world.now = MONDAY + 30 * MINUTE + late
    world.look()

    assert bool(world.fired) == runs
    assert bool(world.missed) != runs


def test_of_several_missed_runs_the_newest_is_made_up_for() -> None:
    world = World()
    world.now = NINE + 3 * DAY + HOUR
    world.look()

    assert world.missed == [NINE, NINE + DAY, NINE + 2 * DAY]
    assert world.fired == [NINE + 3 * DAY]
    assert len(world.of(schedules_events.ScheduleMissed)) == 1


def test_with_skip_only_punctual_runs_happen() -> None:
    world = World(missed="skip")
    world.now = NINE + DAY + HOUR
    world.look()
    world.now = NINE + 2 * DAY + 29
    world.look()

    assert world.missed == [NINE, NINE + DAY]
    assert world.fired == [NINE + 2 * DAY]


def test_with_all_each_missed_run_runs_in_its_order_one_after_the_other() -> None:
    world = World(missed="all")
    world.now = NINE + 3 * DAY + HOUR
    world.look()
    while world.schedule.running:
        assert len(world.schedule.running) == 1
        world.end_run()
        world.look()

    assert world.fired == [NINE, NINE + DAY, NINE + 2 * DAY, NINE + 3 * DAY]
    assert world.missed == []


def test_with_all_a_long_absence_is_made_up_for_by_its_newest_part() -> None:
    world = World(missed="all", timing="* * * * *")
    absence = 20 * DAY
    world.now = MONDAY + absence + 45
    world.look()

    (missed,) = world.of(schedules_events.ScheduleMissed)
    first_made_up_for = MONDAY + absence - (CATCH_UP - 1) * MINUTE
    assert (missed.due, missed.until) == (MONDAY + MINUTE, first_made_up_for - MINUTE)
    assert missed.count == MOST_COUNTED
    assert world.fired == [first_made_up_for]
    assert len(world.schedule.queued) == CATCH_UP - 1


def test_a_moment_missed_by_too_much_is_reported_and_the_schedule_ends() -> None:
    world = World(timing="at 2026-11-23T09:00:00+00:00", kind="once")
    world.now = NINE + 3 * HOUR
    world.look()

    assert world.missed == [NINE]
    assert world.schedule.status == "ended"


# --- still running --------------------------------------------------------------------------------


def test_a_due_time_during_a_run_is_skipped_and_recorded() -> None:
    world = World(timing="* * * * *")
    for minute in (1, 2, 3):
        world.now = MONDAY + minute * MINUTE
        world.look()
    world.end_run()
    world.now += MINUTE
    world.look()

    assert world.fired == [MONDAY + MINUTE, MONDAY + 4 * MINUTE]
    assert [(each.due, each.reason) for each in world.of(schedules_events.ScheduleMissed)] == [
        (MONDAY + 2 * MINUTE, "overlap"),
        (MONDAY + 3 * MINUTE, "overlap"),
    ]


def test_with_queue_it_runs_when_the_last_run_has_ended() -> None:
    world = World(timing="* * * * *", overlap="queue")
    for minute in (1, 2, 3):
        world.now = MONDAY + minute * MINUTE
        world.look()
    assert world.fired == [MONDAY + MINUTE]
    for _ in range(3):
        world.end_run()
        world.look()

    assert world.fired == [MONDAY + MINUTE, MONDAY + 2 * MINUTE, MONDAY + 3 * MINUTE]
    assert world.schedule.queued == ()


def test_an_immediate_run_is_queued_behind_waiting_ones() -> None:
    world = World(timing="* * * * *", overlap="queue")
    for minute in (1, 2):
        world.now = MONDAY + minute * MINUTE
        world.look()
    world.end_run()
    world.now += MINUTE
    clock, queued = (next(step for step in world.due if step.not_before == due) for due in _dues(world))
    world.fire(clock)
    world.fire(queued)

    assert world.fired == [MONDAY + MINUTE, MONDAY + 2 * MINUTE]
    assert world.schedule.queued == (MONDAY + 3 * MINUTE,)


def _dues(world: World) -> tuple[float, float]:
    assert world.schedule.next_due is not None
    return world.schedule.next_due, world.schedule.queued[0]


def test_with_parallel_runs_overlap() -> None:
    world = World(timing="* * * * *", overlap="parallel")
    for minute in (1, 2):
        world.now = MONDAY + minute * MINUTE
        world.look()

    assert len(world.schedule.running) == 2
    assert [each.session for each in world.of(schedules_events.ScheduleFired)] == ["s1", "s2"]


# --- ends -----------------------------------------------------------------------------------------


def test_failures_in_a_row_pause_it_and_notify_its_reader() -> None:
    world = World(timing="* * * * *", deliver=("file:/srv/notes.md",))
    for run in range(MAX_FAILURES):
        world.now += MINUTE
        world.look()
        world.end_run(failed=f"the endpoint is away {run}")

    assert world.schedule.status == "paused"
    assert "5 runs in a row have failed" in world.schedule.pause_reason
    assert "the endpoint is away 4" in world.schedule.pause_reason
    told = world.of(DeliveryRequested)
    assert len(told) == MAX_FAILURES + 1
    assert "has paused itself" in told[-1].text
    assert "hermes-jobs schedule resume p1" in told[-1].text
    assert told[-1].target == "file:/srv/notes.md"
    assert len({each.delivery for each in told}) == len(told)


@pytest.mark.parametrize("between", ["completed", "cancelled"])
def test_a_success_breaks_the_row_of_failures_and_a_cancelled_run_does_not(between: str) -> None:
    world = World(timing="* * * * *")
    for run in range(MAX_FAILURES + 1):
        world.now += MINUTE
        world.look()
        if run == 2:
            world.end_run(cancelled=between == "cancelled")
        else:
            world.end_run(failed="no")

    assert (world.schedule.status == "paused") == (between == "cancelled")


def test_a_run_retried_many_times_is_one_failure() -> None:
    world = World(timing="* * * * *")
    world.now += MINUTE
    world.look()
    (turn,) = world.schedule.running
    world.end_run(failed="no")
    for _ in range(MAX_FAILURES):
        world.tell("s1", e.TurnResumed(turn=turn, by="user"))
        world.end_run(turn, failed="no")

    assert (world.schedule.status, world.schedule.failures) == ("active", 1)


def test_a_moment_ends_the_schedule_when_it_has_come() -> None:
    world = World(timing="at 2026-11-23T09:00:00+00:00", kind="once")
    before = world.schedule
    world.now = NINE
    world.look()

    assert world.fired == [NINE]
    assert [before.status, world.schedule.status] == ["active", "ended"]
    assert world.due == ()


def test_a_timing_that_only_another_version_can_read_pauses_the_schedule_and_says_so() -> None:
    world = World()
    world.write(
        "schedule-p1",
        schedules_events.ScheduleEdited(
            schedule="p1", plan=replace(PLAN, timing="when the cows come home"), by="user", next_due=NINE
        ),
    )
    world.now = NINE
    world.look()

    assert world.schedule.status == "paused"
    assert "when the cows come home" in world.schedule.pause_reason
