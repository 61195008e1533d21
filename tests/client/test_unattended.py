"""What happened without the person since a moment, as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes_jobs.client.unattended import select_unattended
from hermes_jobs.features.deliveries.events import DeliveryFailed, DeliveryRequested, stream_of
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.events import RunStatus
from hermes_jobs.interfaces.cli.notices import unattended_line
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.views.views import Views
from tests.eventlog.schedule_examples import PLAN
from tests.views.histories import new_log
from tests.written_home import WrittenHome

BEFORE, SINCE, AFTER = (f"2026-11-21T{hour}:00:00.000000Z" for hour in ("06", "07", "08"))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlEventLog]:
    with closing(new_log(tmp_path)) as log:
        yield log


@pytest.fixture
def views(log: SqlEventLog, tmp_path: Path) -> Iterator[Views]:
    with closing(Views(log, tmp_path / "views")) as views:
        yield views


def write(log: SqlEventLog, stream: str, *events: e.Event, at: str = AFTER) -> None:
    change = StreamWrite(stream=stream, events=events, expected=None)
    log.append(Append(meta=EventMeta(worker="w"), recorded_at=at, writes=(change,)))


def run(log: SqlEventLog, turn: str, status: RunStatus, *, at: str = AFTER, by: str = "clock") -> None:
    fired = schedules_events.ScheduleFired(
        schedule="p1", due=5.0, turn=turn, session="s", next_due=9.0, by=by
    )
    ended = schedules_events.ScheduleRunEnded(schedule="p1", turn=turn, status=status, message="")
    write(log, "schedule-p1", fired, at=at)
    write(log, "schedule-p1", ended, at=at)


def test_harmful_items_are_shown_until_a_person_decides(log: SqlEventLog, views: Views) -> None:
    harmful = replay_events.Finding(kind="memory", name="7", standing="harmful", why="worse")
    kept = replay_events.Finding(kind="skill", name="tea", standing="kept", why="better")
    write(
        log,
        "experiment-verify-v0",
        replay_events.LearningVerified(review="v0", findings=(harmful,)),
        at=BEFORE,
    )
    write(log, "experiment-verify-v1", replay_events.LearningVerified(review="v1", findings=(harmful, kept)))
    assert unattended_line(views.read(select_unattended, SINCE)) == (
        "1 thing that was learned makes answers worse (hermes-jobs reviews show v1)"
    )
    decided = replay_events.LearningDecided(review="v1", kind="memory", name="7", keep=True, by="user")
    write(log, "experiment-verify-v1", decided)
    assert unattended_line(views.read(select_unattended, SINCE)) == ""


def test_runs_by_the_clock_that_ended_since_are_counted_and_failed_ones_named(
    log: SqlEventLog, views: Views
) -> None:
    plan = replace(PLAN, name="Daily digest")
    write(
        log,
        "schedule-p1",
        schedules_events.ScheduleAdded(schedule="p1", plan=plan, by="user", next_due=5.0),
        at=BEFORE,
    )
    run(log, "t1", "completed", at=BEFORE)
    run(log, "t2", "completed")
    run(log, "t3", "failed")
    run(log, "t4", "completed", by="user")
    missed = schedules_events.ScheduleMissed(schedule="p1", due=5.0, reason="overlap", next_due=9.0, count=2)
    write(log, "schedule-p1", missed)
    assert unattended_line(views.read(select_unattended, SINCE)) == (
        "2 scheduled runs, 1 of them failed (Daily digest); 2 scheduled runs missed"
    )


def test_unread_answers_are_shown_if_one_is_new(log: SqlEventLog, views: Views) -> None:
    def request(name: str, target: str, at: str) -> None:
        event = DeliveryRequested(delivery=name, target=target, text="x", source="schedule:p1")
        write(log, stream_of(name), event, at=at)

    request("d1", "cli", BEFORE)
    assert unattended_line(views.read(select_unattended, SINCE)) == ""
    request("d2", "telegram:12", AFTER)
    write(log, stream_of("d2"), DeliveryFailed(delivery="d2", attempt=1, message="It answered 404."))
    assert unattended_line(views.read(select_unattended, SINCE)) == (
        "1 answer could not be delivered; 2 unread answers (hermes-jobs inbox read)"
    )


def test_turns_that_wait_for_approval_are_counted_except_those_of_the_open_conversation(
    tmp_path: Path,
) -> None:
    with closing(WrittenHome(tmp_path)) as home, closing(Views(home.log, tmp_path / "views")) as views:
        home.recorded_at = AFTER
        for session, turn in (("s1", "t1"), ("s2", "t2")):
            home.submit(session, turn)
            home.prefetch(session)
            home.reply(session, "May I?", "terminal", approval=True)
        assert views.read(select_unattended, SINCE).waiting == ("t2", "t1")
        assert views.read(select_unattended, SINCE, "s1").waiting == ("t2",)
        assert unattended_line(views.read(select_unattended, SINCE, "s1")) == (
            "1 turn waits for your answer (hermes-jobs turns show t2)"
        )
