"""`kill -9` of a process at every append of a turn that saves something: it is saved exactly once."""

from __future__ import annotations

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import entries_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer

FIRST_APPENDS = 4  # the turn is accepted, its session begins; nothing of the memory can be touched yet


def save_and_answer(seen: Seen) -> Action:
    """The text of the turn is saved, and then answered."""
    tag = seen.last_user_text
    if seen.rounds:
        return Answer(text=f"Saved: {tag}")
    return Answer(tool_calls=(AskedCall("memory", {"action": "add", "target": "memory", "content": tag}),))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_memory_is_saved_once_whenever_its_turn_is_killed(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(save_and_answer)
    sends, tags = Sends(), []
    application = Application(load(home.environ), home.environ)
    code, at = KILLED, FIRST_APPENDS
    while code == KILLED:
        at += 1
        tags.append(tag := f"{moment}-{at}")
        code = sends.run(home.environ, home.work, [tag], at, moment)
        finish(application)
    assert code == 0
    assert len(tags) > 3, "a turn has more appends than that"
    assert list(application.memory.sync().memory) == tags
    assert entries_of((home.path / "memories" / "MEMORY.md").read_text()) == tuple(tags)
    _assert_each_call_wrote_once(application.log)
    assert_all_is_done_once(application.log, [])
    assert_views_agree(application.log, home.path / "views")
    application.close()
    with home.open_log() as log:
        assert verify(log).findings == ()


def _assert_each_call_wrote_once(log: EventLog) -> None:
    """One fact for each call, in the same append as its result."""
    added = [fact for fact in facts_of(log) if isinstance(fact, memory_events.MemoryAdded)]
    calls = [fact.evidence.call for fact in added if fact.evidence]
    assert len(set(calls)) == len(added)
    results = {
        each.event.call: each.recorded_at
        for each in log.tail(limit=10_000)
        if isinstance(each.event, e.ToolFinished)
    }
    written = {
        each.event.evidence.call: each.recorded_at
        for each in log.tail(limit=10_000)
        if isinstance(each.event, memory_events.MemoryAdded) and each.event.evidence
    }
    assert written == results


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_curation_is_there_whole_or_not_at_all_when_it_is_killed(home: Home, moment: Moment) -> None:
    texts = ["Drinks oat milk", "Has a dog", "drinks oat milk.", "has a dog."]
    for text in texts:
        assert home.run("memory", "add", text).code == 0

    command = ("memory", "curate")
    assert Sends().run(home.environ, home.work, ["--apply"], 1, moment, command=command) == KILLED

    left = home.run("memory", "show", "--json").json["memory"]["entries"]
    assert left == (texts[2:] if moment == "after" else texts)
    assert home.run("memory", "curate", "--apply").code == 0
    assert home.run("memory", "show", "--json").json["memory"]["entries"] == texts[2:]
    assert home.run("memory", "curate", "--undo").code == 0
    assert sorted(home.run("memory", "show", "--json").json["memory"]["entries"]) == sorted(texts)
