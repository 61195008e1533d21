"""What the clock finds to consolidate: finished conversations, so many a day, and none for ever."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.consolidation.plans import ConsolidationPlans, plans_of
from hermes_jobs.features.consolidation.portion import CHARS, portion
from hermes_jobs.features.consolidation.rules import Consolidation, stream_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.helper_calls import fail, failure
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.settings import load
from tests.written_home import WrittenHome

HOUR, DAY = 3_600.0, 86_400.0
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()  # when a written home's events were recorded


class LaterClock:
    """Noon of the day of a written home, and so many seconds later."""

    def __init__(self) -> None:
        self.later = 0.0

    def now(self) -> float:
        return NOON + self.later

    def monotonic(self) -> float:
        return time.monotonic()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    written = WrittenHome(tmp_path)
    yield written
    written.close()


class Planner:
    """Plans by a clock that a test sets."""

    def __init__(self, application: Application, clock: LaterClock) -> None:
        self.application = application
        self.clock = clock

    @property
    def found(self) -> ConsolidationPlans:
        return plans_of(self.application)

    def plan(self, later: float) -> list[str]:
        """The lineages that are asked for so many seconds from now."""
        self.clock.later = later
        streams = self.found.plan(self.application.engine())
        return [stream.removeprefix("consolidation-") for stream in streams]

    def fail(self, lineage: str, kind: str) -> None:
        state = self.application.engine().state(stream_of(lineage))
        assert isinstance(state, Consolidation)
        assert state.call is not None
        failed = fail(state.stream, failure(state.call, kind, "It is down."))
        self.application.engine().change(failed, "test")


@contextmanager
def planning(home: WrittenHome, per_day: int = 20) -> Iterator[Planner]:
    home.close()
    environ = {
        **home.environ,
        "HERMES_JOBS_MEMORY__CONSOLIDATE": "true",
        "HERMES_JOBS_MEMORY__CONSOLIDATE_PER_DAY": str(per_day),
    }
    clock = LaterClock()
    application = Application(load(environ), environ, clock=clock)
    try:
        yield Planner(application, clock)
    finally:
        application.close()


def test_a_conversation_is_finished_when_it_was_idle_for_long_enough(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    with planning(home) as planner:
        assert planner.plan(5 * HOUR) == []
        assert planner.plan(7 * HOUR) == ["aa"]
        assert planner.plan(8 * HOUR) == [], "it is under way"


def test_one_that_was_ended_is_finished_at_once(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    home.answered("bb", "t2")
    home.do("aa", c.EndSession(reason="user"))
    with planning(home) as planner:
        assert planner.plan(0) == ["aa"]


def test_compressed_texts_are_finished_and_later_ones_are_not(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    home.submit("aa", "t2")
    since = e.TurnCompleted(turn="t2", answer="Since then.")
    events = (e.SessionEnded(session="aa", reason="compression"), since)
    write = StreamWrite(stream="session-aa", events=events, expected=home.session("aa").version)
    home.log.append(Append(meta=EventMeta(worker="w1"), recorded_at=home.recorded_at, writes=(write,)))
    with planning(home) as planner:
        assert planner.plan(0) == ["aa"]
        state = planner.application.engine().state(stream_of("aa"))
        assert isinstance(state, Consolidation)
        assert [each.id for each in planner.found.turns(state)] == ["t1"]


def test_the_last_used_come_first_and_no_more_than_the_bound_in_a_day(home: WrittenHome) -> None:
    for number in range(1, 6):
        home.recorded_at = f"2026-11-21T12:00:0{number}.000000Z"
        home.answered(f"a{number}", f"t{number}")
    with planning(home, per_day=2) as planner:
        assert planner.plan(DAY) == ["a5", "a4"]
        assert planner.plan(DAY) == []
        assert planner.plan(2 * DAY) == ["a3", "a2"]
        assert planner.plan(3 * DAY) == ["a1"]


def test_a_failed_consolidation_is_retried_another_day_with_a_limit(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    with planning(home) as planner:
        for day in (1, 2, 3):
            assert planner.plan(day * DAY) == ["aa"]
            planner.fail("aa", "server")
            assert planner.plan(day * DAY + 1) == []
        assert planner.plan(4 * DAY) == []


@pytest.mark.parametrize(("kind", "again"), [("budget", ["aa"]), ("cancelled", [])])
def test_an_exhausted_budget_is_no_failure_and_a_cancel_is_final(
    home: WrittenHome, kind: str, again: list[str]
) -> None:
    home.answered("aa", "t1")
    with planning(home) as planner:
        for day in (1, 2, 3):
            assert planner.plan(day * DAY) == (["aa"] if day == 1 else again)
            if day == 1 or again:
                planner.fail("aa", kind)
        assert planner.plan(4 * DAY) == again


def test_a_long_conversation_is_read_in_parts_of_whole_turns(home: WrittenHome) -> None:
    for number in range(1, 13):
        home.answered("aa", f"t{number}", text="a" * 9_000, answer="b" * 9_000)
    with planning(home) as planner:
        planner.plan(DAY)
        state = planner.application.engine().state(stream_of("aa"))
        assert isinstance(state, Consolidation)
        turns = planner.found.turns(state)
        assert [each.id for each in turns] == ["t1", "t2", "t3", "t4"]
        assert sum(len(each.prompt) + len(each.answer) for each in turns) <= CHARS
        assert turns[0].prompt.endswith("… [5,000 more characters]")


def test_credentials_and_tool_results_are_not_read(home: WrittenHome) -> None:
    home.submit("aa", "t1", text="The password is: hunter2hunter2")
    home.prefetch("aa")
    home.reply("aa", "I look.", "terminal")
    home.run_tool("aa", "What a page says")
    home.reply("aa", "Done.")
    home.record("aa")
    (turn,) = portion(home.log.read("session-aa"), 0, 99, lambda at: at[:10])
    assert (turn.id, turn.session, turn.day, turn.answer) == ("t1", "aa", "2026-11-21", "Done.")
    assert turn.prompt == "The [REDACTED]"


def test_merged_texts_are_read_with_their_turn() -> None:
    events = (
        e.TurnSubmitted(turn="t1", text="First", source="cli", session="s1"),
        e.TurnSubmitted(turn="t2", text="Second", source="cli", session="s1"),
        e.TurnMerged(turn="t2", into="t1"),
        e.TurnCompleted(turn="t1", answer="Both."),
    )
    (turn,) = portion([recorded(at, each) for at, each in enumerate(events, 1)], 0, 9, lambda at: at[:10])
    assert (turn.prompt, turn.version) == ("First\nSecond", 4)


def recorded(version: int, event: e.Event) -> RecordedEvent:
    return RecordedEvent(
        position=version,
        stream="session-s1",
        version=version,
        type=type(event).__name__,
        event=event,
        meta=EventMeta(worker="w1"),
        schema=1,
        recorded_at="2026-11-21T12:00:00.000000Z",
        hash="",
    )
