"""A schedule whose condition decides about each run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.conditions.events import Checked, Condition
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.checks import Conclude
from hermes_jobs.kernel import events as e
from tests.examples import examples
from tests.planning.world import MINUTE, MONDAY, PLAN, World

CONDITION = Condition(command="test -f mail", folder="/srv", asked="")
PLANNED = replace(PLAN, timing="*/5 * * * *", condition=CONDITION)
YES = Checked(status=0, output="2 files", seen="d2")
NO = Checked(status=1, output="nothing new")
BROKEN = Checked(status=3, output="no such host")


def conclude(world: World, checked: Checked, condition: Condition = CONDITION) -> None:
    checking = world.schedule.checking
    assert checking is not None
    world.do(Conclude(stream=world.schedule.stream, turn=checking.turn, condition=condition, checked=checked))


def due(world: World) -> None:
    """The next due time comes, and is decided."""
    world.now = world.schedule.next_due or world.now
    for step in world.due:
        if step.kind == "schedule.fire":
            world.fire(step)


def test_a_due_time_is_checked_before_anything_is_submitted() -> None:
    world = World(PLANNED)
    due(world)
    assert [step.kind for step in world.schedule_steps] == ["schedule.fire", "schedule.check"]
    assert not world.of(e.TurnSubmitted)

    conclude(world, YES)
    (fired,), (submitted,) = world.of(schedules_events.ScheduleFired), world.of(e.TurnSubmitted)
    assert (fired.due, fired.turn, fired.seen) == (MONDAY + 5 * MINUTE, submitted.turn, "d2")
    assert submitted.text.startswith(PLAN.text)
    assert "not instructions" in submitted.text
    assert "2 files" in submitted.text
    assert not submitted.attended
    assert world.schedule.seen == "d2"


def test_ten_times_no_are_ten_recorded_skips_and_no_turn() -> None:
    world = World(PLANNED)
    for _ in range(10):
        due(world)
        conclude(world, NO)
    skips = world.of(schedules_events.ScheduleSkipped)
    assert [skip.due for skip in skips] == [MONDAY + number * 5 * MINUTE for number in range(1, 11)]
    assert {skip.message for skip in skips} == {"nothing new"}
    assert not world.of(e.TurnSubmitted)
    assert world.schedule.status == "active"


def test_a_failed_condition_runs_nothing_is_told_and_pauses_after_five() -> None:
    world = World(PLANNED, deliver=("cli", "file:/tmp/a"))
    for _ in range(5):
        due(world)
        conclude(world, BROKEN)
    told = world.of(DeliveryRequested)
    assert [each.target for each in told] == ["cli", "file:/tmp/a"] * 5
    assert all("exit code 3: no such host" in each.text and not each.ok for each in told)
    assert "paused itself" in told[-1].text
    assert world.schedule.status == "paused"
    assert not world.of(e.TurnSubmitted)


def test_an_outcome_that_comes_twice_or_too_late_does_nothing_more() -> None:
    world = World(PLANNED)
    due(world)
    checking = world.schedule.checking
    assert checking is not None
    conclude(world, YES)
    late = Conclude(stream=world.schedule.stream, turn=checking.turn, condition=CONDITION, checked=YES)
    assert not world.do(late).writes
    assert len(world.of(e.TurnSubmitted)) == 1


def test_a_condition_that_was_edited_meanwhile_is_checked_again() -> None:
    world = World(PLANNED)
    due(world)
    world.edit(condition=replace(CONDITION, command="test -f other"))
    conclude(world, YES)
    assert not world.of(e.TurnSubmitted)
    assert "schedule.check" in [step.kind for step in world.schedule_steps]


def test_a_pause_withdraws_the_check_and_says_so() -> None:
    world = World(PLANNED)
    due(world)
    world.pause()
    assert world.of(schedules_events.ScheduleSkipped)[0].message == "paused by user"
    assert not world.schedule_steps


def test_due_times_during_a_check_overlap_with_it() -> None:
    for overlap, kind in (
        ("skip", schedules_events.ScheduleMissed),
        ("queue", schedules_events.ScheduleQueued),
        ("parallel", schedules_events.ScheduleQueued),
    ):
        world = World(PLANNED, overlap=overlap)
        due(world)
        due(world)
        assert len(world.of(kind)) == 1, overlap


def test_a_run_by_hand_does_not_ask_and_waits_for_no_open_check() -> None:
    world = World(PLANNED)
    world.run_now()
    assert len(world.of(e.TurnSubmitted)) == 1
    world.end_run()
    due(world)
    with pytest.raises(Rejected, match="is being checked"):
        world.run_now()


@given(st.lists(st.sampled_from([YES, NO, BROKEN, None]), max_size=12))
@settings(max_examples=examples(50))
def test_each_due_time_has_exactly_one_outcome(outcomes: list[Checked | None]) -> None:
    world = World(PLANNED, overlap="queue")
    for outcome in outcomes:
        if world.schedule.paused:
            world.resume()
        due(world)
        if world.schedule.checking is not None and outcome is not None:
            conclude(world, outcome)
        if world.schedule.running:
            world.end_run()
    kinds = (
        schedules_events.ScheduleFired,
        schedules_events.ScheduleSkipped,
        schedules_events.ScheduleCheckFailed,
    )
    decided = [each.due for kind in kinds for each in world.of(kind)]
    checking = world.schedule.checking
    waiting = [*world.schedule.queued, *([checking.due] if checking else [])]
    assert len({*decided, *waiting}) == len(decided) + len(waiting)
    assert len(world.of(e.TurnSubmitted)) == len(world.of(schedules_events.ScheduleFired))
