"""Jitter: runs are spread, always in the same way, and each before the next due time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.features.schedules.events import ScheduleFired
from hermes_jobs.features.schedules.rules.timing import delay_of, rule_of
from tests.examples import examples
from tests.planning.test_firing_properties import plans
from tests.planning.world import HOUR, MINUTE, MONDAY, PLAN, World

SPREAD = replace(PLAN, timing="*/5 * * * *", jitter=3 * MINUTE)


@given(plans, st.text("abcdef0123456789", min_size=4, max_size=6), st.floats(0, 400 * 86_400.0))
@settings(max_examples=examples(100))
def test_a_delay_is_whole_seconds_up_to_the_jitter_and_ends_before_the_next_due_time(
    plan, schedule: str, later: float
) -> None:
    due = rule_of(plan).after(MONDAY + later, since=MONDAY)
    assert due is not None
    delay = delay_of(schedule, plan, due)
    following = rule_of(plan).after(due, since=due)
    assert 0 <= delay <= plan.jitter
    assert delay == int(delay) == delay_of(schedule, plan, due)
    assert following is None or due + delay < following


def test_a_hundred_schedules_with_one_due_time_start_at_many_moments() -> None:
    delays = {delay_of(f"p{number}", SPREAD, MONDAY) for number in range(100)}
    assert len(delays) > 60
    assert max(delays) - min(delays) > 2 * MINUTE


def test_a_run_starts_when_it_was_spread_to_and_is_on_time_then() -> None:
    world = World(SPREAD, missed="skip")
    for _ in range(12):
        (step,) = world.schedule_steps
        due = world.schedule.next_due
        world.now = step.not_before - 1
        assert not world.due
        world.now = step.not_before
        world.look()
        fired = world.of(ScheduleFired)[-1]
        assert (fired.due, fired.due + fired.delay) == (due, step.not_before)
        world.end_run()
    assert not world.missed
    assert world.fired == [MONDAY + number * 5 * MINUTE for number in range(1, 13)]


def test_of_due_times_that_nobody_saw_the_newest_one_waits_for_its_own_start() -> None:
    world = World(SPREAD)
    world.now = MONDAY + HOUR  # a due time, whose start is later
    start = MONDAY + HOUR + delay_of("p1", SPREAD, MONDAY + HOUR)
    assert start > world.now
    world.look()
    assert MONDAY + HOUR not in [*world.fired, *world.missed]
    assert [step.not_before for step in world.schedule_steps] == [start]
