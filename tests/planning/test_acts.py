"""What people do to schedules, and what that means for what is due."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.schedules import events as e
from hermes_jobs.features.schedules.rules.commands import Add
from tests.planning.world import DAY, HOUR, MINUTE, MONDAY, PLAN, World

NINE = MONDAY + 9 * HOUR


def test_a_new_schedule_is_due_at_its_next_time() -> None:
    world = World()

    assert world.schedule.status == "active"
    assert [(step.id, step.kind, step.not_before) for step in world.schedule_steps] == [
        (f"p1-{NINE:.0f}", "schedule.fire", NINE)
    ]


def test_an_interval_counts_from_when_it_was_added() -> None:
    world = World(timing="every 40 minutes", kind="interval", now=MONDAY + 7)
    for _ in range(3):
        world.now += 40 * MINUTE
        world.look()
        world.end_run()

    assert world.fired == [MONDAY + 7 + n * 40 * MINUTE for n in (1, 2, 3)]


def test_a_moment_that_has_passed_is_refused() -> None:
    with pytest.raises(Rejected, match="never due") as refused:
        World(timing="at 2026-11-22T09:00:00+00:00", kind="once")
    assert refused.value.kind == "usage"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"text": "  "}, "needs a task"),
        ({"name": "n" * 61}, "61 characters"),
        ({"timezone": "Europe/Atlantis"}, "no time zone 'Europe/Atlantis'"),
        ({"deliver": ("pigeon:Anna",)}, "pigeon"),
        ({"session": "s404"}, "no session s404"),
    ],
)
def test_an_impossible_plan_is_refused_with_the_reason(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(Rejected, match=says):
        World(**changes)


def test_a_paused_schedule_is_not_due_and_resumes_from_then_on() -> None:
    world = World()
    world.pause()
    world.now = NINE + DAY + HOUR
    assert world.schedule_steps == ()
    world.look()
    world.resume()

    assert world.schedule.next_due == NINE + 2 * DAY
    assert (world.fired, world.missed) == ([], [])


def test_pausing_and_resuming_twice_says_nothing_new() -> None:
    world = World()
    world.resume()
    world.pause()
    world.pause()
    world.resume()

    assert [type(fact).__name__ for fact in world.facts] == [
        "ScheduleAdded",
        "SchedulePaused",
        "ScheduleResumed",
    ]


def test_a_moment_that_passed_while_paused_cannot_be_resumed_but_run() -> None:
    world = World(timing="at 2026-11-23T09:00:00+00:00", kind="once")
    world.pause()
    world.now = NINE + DAY
    with pytest.raises(Rejected, match="has passed") as refused:
        world.resume()
    world.run_now()

    assert "schedule run p1" in refused.value.hint
    assert [each.by for each in world.of(e.ScheduleFired)] == ["user"]


def test_a_schedule_after_its_last_run_cannot_be_resumed() -> None:
    world = World(timing="at 2026-11-23T09:00:00+00:00", kind="once")
    world.now = NINE
    world.look()
    world.end_run()
    with pytest.raises(Rejected, match="has passed"):
        world.resume()

    assert (world.schedule.status, world.of(e.ScheduleResumed)) == ("ended", [])


def test_a_removed_schedule_is_gone_for_every_act() -> None:
    world = World()
    world.remove()

    assert world.schedule.status == "removed"
    assert world.schedule_steps == ()
    for act in (world.pause, world.resume, world.remove, world.run_now, world.edit):
        with pytest.raises(Rejected, match="was removed") as refused:
            act()
        assert refused.value.kind == "unknown_schedule"


def test_a_run_under_way_ends_well_although_its_schedule_was_removed() -> None:
    world = World()
    world.now = NINE
    world.look()
    world.remove()
    world.end_run()

    assert world.schedule.running == ()


# --- edit -----------------------------------------------------------------------------------------


def test_another_text_leaves_the_next_time_as_it_is() -> None:
    world = World(timing="every 40 minutes", kind="interval")
    world.now += 5 * MINUTE
    world.edit(text="Something else.")

    assert world.schedule.next_due == MONDAY + 40 * MINUTE
    assert world.plan.text == "Something else."


def test_another_time_counts_from_now_on() -> None:
    world = World(timing="every 40 minutes", kind="interval")
    world.now += 5 * MINUTE
    world.edit(timing="every 10 minutes")

    assert world.schedule.next_due == MONDAY + 15 * MINUTE


def test_a_run_missed_before_the_edit_is_reported() -> None:
    world = World()
    world.now = NINE + HOUR
    world.edit(timing="0 12 * * *")

    assert [(each.due, each.reason) for each in world.of(e.ScheduleMissed)] == [(NINE, "edited")]
    assert world.schedule.next_due == MONDAY + 12 * HOUR


def test_an_edit_that_changes_nothing_writes_nothing() -> None:
    world = World()
    world.edit(text=PLAN.text)

    assert world.of(e.ScheduleEdited) == []


def test_an_edited_moment_that_had_come_is_due_again() -> None:
    world = World(timing="at 2026-11-23T09:00:00+00:00", kind="once")
    world.now = NINE
    world.look()
    world.end_run()
    world.edit(timing="at 2026-11-24T09:00:00+00:00")
    world.now = NINE + DAY
    world.look()

    assert world.fired == [NINE, NINE + DAY]


@pytest.mark.parametrize("act", ["edit", "resume"])
def test_a_due_time_with_a_run_is_not_due_again_after_a_clock_change(act: str) -> None:
    world = World(timing="0 * * * *")
    world.now = NINE
    world.look()
    world.end_run()
    world.now = MONDAY + 6.5 * HOUR
    if act == "edit":
        world.edit(timing="0,30 * * * *")
    else:
        world.pause()
        world.resume()
    while world.now < NINE + 2 * HOUR:
        world.now += 10 * MINUTE
        world.look()
        while world.schedule.running:
            world.end_run()

    assert world.fired[0] == NINE
    assert world.fired[1:]
    assert all(due > NINE for due in world.fired[1:])


# --- run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paused", [False, True])
def test_a_run_at_once_is_a_real_run_and_moves_nothing_else(paused: bool) -> None:
    world = World(deliver=("cli", "file:/srv/notes.md"))
    if paused:
        world.pause()
    world.now += 30.5
    world.run_now()
    world.end_run()

    (fired,) = world.of(e.ScheduleFired)
    assert (fired.due, fired.by, fired.next_due) == (MONDAY + 30, "user", NINE)
    assert [each.target for each in world.of(DeliveryRequested)] == ["cli", "file:/srv/notes.md"]
    assert world.schedule.next_due == NINE
    assert world.schedule.status == ("paused" if paused else "active")


def test_an_immediate_run_is_refused_beside_another() -> None:
    world = World()
    world.run_now()
    with pytest.raises(Rejected, match="is running already") as refused:
        world.run_now()
    assert refused.value.kind == "busy"
    assert "t1" in refused.value.hint

    world.edit(overlap="parallel")
    world.run_now()
    assert len(world.schedule.running) == 2


def test_the_same_id_is_added_once() -> None:
    world = World()
    with pytest.raises(Rejected, match="exists"):
        world.do(Add(schedule="p1", now=world.now, plan=PLAN))
