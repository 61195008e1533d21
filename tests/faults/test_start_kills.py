"""`kill -9` at every append between a condition or a firing and its turn: one turn, and nothing lost."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.conditions.events import Condition
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.schedule import Schedule, stream_of
from hermes_jobs.features.triggers import api
from hermes_jobs.features.triggers import events as triggers_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import append
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish, installed
from tests.home import Home
from tests.planning.world import PLAN

WHEN = MOMENTS if os.environ.get("FAULTS") == "full" else ("within",)
ONCE = "at 2026-01-01T00:00:00+00:00"
CHANGED = "hermes-jobs changed mail"


def of(application: Application, kind: type[e.Event]) -> list[e.Event]:
    return [fact for fact in facts_of(application.log) if isinstance(fact, kind)]


def source_of(application: Application, source: str) -> list[str]:
    """The texts of the turns from there."""
    turns = (fact for fact in facts_of(application.log) if isinstance(fact, e.TurnSubmitted))
    return [turn.text for turn in turns if turn.source.startswith(source)]


@pytest.mark.slow
@pytest.mark.parametrize("moment", WHEN)
def test_a_schedules_condition_that_sees_a_change_runs_once_for_it(home: Home, moment: Moment) -> None:
    sends, mail = Sends(), home.work / "mail"
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            mail.write_text(f"letter {at}")
            add(application, f"p{at}", Condition(command=CHANGED, folder=str(home.work)))
            code = sends.run(home.environ, home.work, ["hello"], at, moment)
            finish(application)
            add_due(application, f"p{at}")  # nothing has changed since
            finish(application)
            assert len(source_of(application, f"schedule:p{at}")) == 1
        assert at > 5
        skipped = of(application, schedules_events.ScheduleSkipped)
        assert len(skipped) == at
        assert_all_is_done_once(application.log, [])


def add(application: Application, name: str, condition: Condition) -> None:
    """A schedule that is due once, now."""
    plan = replace(PLAN, name=name, timing=ONCE, kind="once", deliver=(), condition=condition)
    now = float(int(application.clock.now()))
    added = schedules_events.ScheduleAdded(schedule=name, plan=plan, by="user", next_due=now)
    application.engine().change(append(stream_of(name), added), "test")


def add_due(application: Application, name: str) -> None:
    """It is due once more."""
    schedule = application.engine().state(stream_of(name))
    assert isinstance(schedule, Schedule)
    assert schedule.plan is not None
    now = float(int(application.clock.now())) + 1
    edited = schedules_events.ScheduleEdited(schedule=name, plan=schedule.plan, by="user", next_due=now)
    application.engine().change(append(stream_of(name), edited), "test")


@pytest.mark.slow
@pytest.mark.parametrize("moment", WHEN)
def test_a_text_with_a_condition_is_sent_once_or_not_at_all(home: Home, moment: Moment) -> None:
    sends, mail = Sends(), home.work / "mail"
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            mail.write_text(f"letter {at}")
            sent = ["--if-changed", CHANGED, "--source", f"hook{at}", "Read my mail."]
            code = sends.run(home.environ, home.work, sent, at, moment)
            finish(application)
            if not source_of(application, f"hook{at}"):  # killed before anything was recorded
                assert sends.run(home.environ, home.work, sent, 99, "after") == 0
                finish(application)
            again = home.run("send", *sent)
            assert (again.code, again.out) == (0, "")
            assert "Skipped" in again.err
            assert len(source_of(application, f"hook{at}")) == 1
        assert (code, at > 6) == (0, True)
        assert_all_is_done_once(application.log, [])


@pytest.mark.slow
@pytest.mark.parametrize("moment", WHEN)
def test_debounced_firings_are_one_turn_whatever_dies(home: Home, moment: Moment) -> None:
    sends = Sends()
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            name = f"ci{at}"
            api.add(application, name, api.TriggerPlan(text="Look.", deliver=(), debounce=0.2))
            (home.work / "log").write_text(f"log {at}")
            for number in range(2):  # everything has ended in between
                api.fire(application, name, f"firing {number}", key=str(number))
            code = sends.run(
                home.environ,
                home.work,
                [name, "-f", "log", "--key", "2", "--wait"],
                at,
                moment,
                command=("trigger",),
            )
            api.fire(application, name, "firing 0", key="0")
            finish(application)
            texts = source_of(application, f"trigger:{name}")
            fired = [
                fact
                for fact in facts_of(application.log)
                if isinstance(fact, triggers_events.TriggerFired) and fact.trigger == name
            ]
            assert len(fired) in {2, 3}
            for number in range(2):
                assert sum(f"firing {number}" in text for text in texts) == 1
            assert {each.turn for each in fired} == {turn_of(application, text) for text in texts}
        assert (code, at > 4) == (0, True)
        assert_all_is_done_once(application.log, [])


def turn_of(application: Application, text: str) -> str:
    turns = (fact for fact in facts_of(application.log) if isinstance(fact, e.TurnSubmitted))
    return next(turn.turn for turn in turns if turn.text == text)
