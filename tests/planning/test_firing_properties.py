"""Whatever the clock does: each due time has one run, or one word on why it has none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.features.schedules.events import Plan
from hermes_jobs.features.schedules.rules.runs import LATEST, ON_TIME
from hermes_jobs.features.schedules.rules.timing import TimingInZone, delay_of
from hermes_jobs.kernel import events as e
from tests.examples import examples
from tests.planning.world import DAY, HOUR, MINUTE, PLAN, World

SPRING = 1_774_720_800.0
"""2026-03-28 18:00 UTC: hours before Europe puts its clocks forward."""
AUTUMN = 1_792_864_800.0
"""2026-10-24 18:00 UTC: hours before Europe puts them back."""

timings = st.sampled_from(
    [
        ("*/20 * * * *", "cron"),
        ("30 2 * * *", "cron"),
        ("0 9 * * 1-5", "cron"),
        ("every 40 minutes", "interval"),
        ("every 25 hours", "interval"),
        ("every day at 02:30", "calendar"),
        ("every Monday and Friday at 08:00, 12:30 and 18:15", "calendar"),
    ]
)
plans = st.builds(
    lambda timing, zone, missed, overlap, jitter: Plan(
        name=PLAN.name,
        text=PLAN.text,
        timing=timing[0],
        kind=timing[1],
        timezone=zone,
        missed=missed,
        overlap=overlap,
        jitter=jitter,
    ),
    timings,
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York"]),
    st.sampled_from(["run_once", "skip", "all"]),
    st.sampled_from(["skip", "queue", "parallel"]),
    st.sampled_from([0.0, 45.0, HOUR]),
)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("on"), st.sampled_from([1.0, 20.0, 61.0, HOUR, 5 * HOUR, 20 * HOUR])),
        st.tuples(st.just("jump"), st.floats(-2 * DAY, 3 * DAY)),
        st.tuples(st.just("end"), st.just(0.0)),
        st.tuples(st.just("again"), st.floats(-DAY, DAY)),
    ),
    max_size=20,
)


@given(plans, moves, st.sampled_from([SPRING, AUTUMN]))
@settings(max_examples=examples(60))
def test_each_due_time_is_fired_or_missed_or_waits_and_only_once(
    plan: Plan, steps: list[tuple[str, float]], start: float
) -> None:
    world = World(plan, now=start)
    latest = start
    for act, seconds in steps:
        if act == "end" and world.schedule.running:
            world.end_run()
        elif act == "again":  # a worker whose clock is wrong looks at what is due, early or late
            for step in world.schedule_steps:
                world.fire(step, now=world.now + seconds)
                latest = max(latest, step.not_before, world.now + seconds)
        else:
            world.now += seconds
        latest = max(latest, world.now)
        world.look()

    assert len(set(world.fired)) == len(world.fired)
    next_due = world.schedule.next_due
    assert next_due is not None
    decided = sorted([*world.fired, *world.missed, *world.schedule.queued])
    assert decided == list(takewhile(lambda due: due < next_due, _all_dues(world.rule, start)))
    starts = next_due + delay_of("p1", plan, next_due)
    assert starts > world.now or starts > latest - 1


def _all_dues(rule: TimingInZone, start: float) -> Iterator[float]:
    return rule.following(rule.after(start, since=start))


@given(plans, st.lists(st.floats(1, 3 * DAY), min_size=1, max_size=5))
@settings(max_examples=examples(25))
def test_a_run_that_the_policy_forbids_is_never_begun(plan: Plan, absences: list[float]) -> None:
    world = World(plan, now=SPRING)
    for seconds in absences:
        before = len(world.fired)
        world.now += seconds
        world.look()
        for due in world.fired[before:]:
            late = world.now - due
            assert late >= 0
            if plan.missed == "skip":
                assert late <= ON_TIME
            if plan.missed == "run_once":
                assert late <= LATEST
        if plan.overlap != "parallel":
            assert len(world.schedule.running) <= 1
        while world.schedule.running:
            world.end_run()


@given(plans, st.permutations(range(6)), st.floats(0, DAY))
@settings(max_examples=examples(50))
def test_many_processes_at_the_same_due_time_make_one_run(plan: Plan, order: list[int], late: float) -> None:
    world = World(plan, now=SPRING)
    (step,) = world.schedule_steps
    world.now = step.not_before + late
    for number in order:
        world.fire(step, now=world.now + number * MINUTE)

    assert len(world.of(e.TurnSubmitted)) == len(world.fired) <= 1
