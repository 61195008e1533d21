"""`kill -9` while conversations are consolidated: a turn is read once, an observation written once."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter

import pytest

from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.consolidation.plans import plan
from hermes_jobs.features.consolidation.rules import PREFIX
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.kernel.log.log import EventLog
from tests.e2e.invariants import assert_views_agree
from tests.faults.crew import Crew, wait_until
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish, installed
from tests.home import Home
from tests.model_script import Action, Answer, Refuse, Seen
from tests.model_server import ModelServer


def observing(seen: Seen) -> Action:
    """One observation of each turn, which says the turn's text."""
    shown = re.findall(r'<turn id="(\w+)"[^>]*>\n<person>\n(.*?)\n</person>', seen.last_user_text)
    if not shown:
        return Answer(text="I see.")
    found = [{"text": f"Observed: {text}", "turns": [turn]} for turn, text in shown]
    return Answer(text=json.dumps({"observations": found}))


def is_read(seen: Seen) -> bool:
    return "<turn id=" in seen.last_user_text


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_each_turn_is_read_once_whatever_append_is_the_last_of_its_worker(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(observing)
    sends = Sends()
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            session = home.send(f"I bought boat number {at}")["session"]
            words = ("sessions", "consolidate", session)
            code = sends.run(home.environ, home.work, [], at, moment, command=words)
            finish(application)
            assert home.run(*words).code == 0
            assert_each_turn_is_read_once(application.log)
        assert code == 0
        assert at > 2
        contents = [fact.content for fact in observed(application.log)]
        assert sorted(contents) == sorted(f"Observed: I bought boat number {n}" for n in range(1, at + 1))
        assert home.run("events", "verify").code == 0
        assert_views_agree(application.log, home.path / "views")


def observed(log: EventLog) -> list[memory_events.MemoryAdded]:
    written = (each.event for each in log.read("memory"))
    return [event for event in written if isinstance(event, memory_events.MemoryAdded)]


def assert_each_turn_is_read_once(log: EventLog) -> None:
    """Each part has one end, parts follow each other, nothing stays reserved, and no observation is there
    twice."""
    for head in log.streams(PREFIX):
        events = [each.event for each in log.read(head.stream)]
        asked = [event for event in events if isinstance(event, consolidation_events.ConsolidationRequested)]
        ends = Counter(
            event.review for event in events if isinstance(event, consolidation_events.ConsolidationEnded)
        )
        assert ends == Counter(event.review for event in asked), head.stream
        assert [each.after for each in asked[1:]] == [each.until for each in asked[:-1]]
        assert log.account(head.stream).reserved.tokens == 0
    assert not [text for text, n in Counter(each.content for each in observed(log)).items() if n > 1]


@pytest.mark.slow
def test_workers_read_each_due_conversation_once_and_retry_failed_calls(
    home: Home, crew: Crew, model_server: ModelServer
) -> None:
    model_server.follow(observing)
    home.run("config", "set", "memory.consolidate", "true")
    ended = [home.send(f"I bought boat number {number}")["session"] for number in (1, 2)]
    home.send("This conversation continues")
    for session in ended:
        home.run("sessions", "end", session)
    refusals = iter([Refuse(status=503, message="Try again.")])
    lock = threading.Lock()

    def first_refused(seen: Seen) -> Action:
        with lock:
            refused = next(refusals, None) if is_read(seen) else None
        return refused or observing(seen)

    model_server.follow(first_refused)
    with installed(home) as application:
        crew.start_one(0)
        crew.start_one(1)
        plan(application)
        plan(application)
        wait_until(lambda: len(observed(application.log)) == 2, "two observations")
        wait_until(lambda: not application.log.steps(), "the steps to end")
        plan(application)
        assert not application.log.steps()
        assert_each_turn_is_read_once(application.log)
        assert sum(map(is_read, model_server.requests)) == 3


@pytest.mark.slow
def test_two_clocks_together_keep_to_the_bound_of_a_day(home: Home, model_server: ModelServer) -> None:
    model_server.follow(observing)
    for key, value in (("memory.consolidate", "true"), ("memory.consolidate_per_day", "2")):
        home.run("config", "set", key, value)
    for number in range(4):
        home.run("sessions", "end", home.send(f"I bought boat number {number}")["session"])
    with installed(home) as one, installed(home) as other:
        clocks = [threading.Thread(target=plan, args=(each,)) for each in (one, other)]
        for clock in clocks:
            clock.start()
        for clock in clocks:
            clock.join()
        plan(other)
        assert len(one.log.streams(PREFIX)) == 2
        finish(one)
        assert len(observed(one.log)) == 2
