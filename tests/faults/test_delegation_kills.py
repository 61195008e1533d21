"""`kill -9` of a process that works on a turn and its sub-agents, at every append of either."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import (
    assert_all_is_done_once,
    assert_at_most_once,
    assert_children_ended_once,
    assert_views_agree,
    counted,
    facts_of,
)
from tests.faults.checker import violations
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish, installed
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Chooser, Seen
from tests.model_server import ModelServer
from tests.tools.support import processes_with, wait_until

WHEN = MOMENTS if os.environ.get("FAULTS") == "full" else ("within",)


def two_children(effects: Path) -> Chooser:
    """A turn hands its tag to two sub-agents; the first of them writes it to the file, the other thinks."""

    def choose(seen: Seen) -> Action:
        what, _, tag = seen.last_user_text.partition(" ")
        match what, seen.rounds:
            case "think", _:
                return Answer(text=f"Thought of {tag}.")
            case "write", 0:
                return Answer(tool_calls=(AskedCall("terminal", {"command": f"echo {tag} >> '{effects}'"}),))
            case "write", _:
                return Answer(text=f"Wrote {tag}.")
            case tag, 0:
                tasks = [{"goal": f"write {tag}"}, {"goal": f"think {tag}"}]
                return Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks}),))
            case _:
                return Answer(text=f"Done: {what}")

    return choose


@pytest.mark.slow
@pytest.mark.parametrize("moment", WHEN)
def test_a_turn_and_its_children_survive_a_kill_at_every_one_of_their_appends(
    home: Home, model_server: ModelServer, effects: Path, moment: Moment
) -> None:
    model_server.follow(two_children(effects))
    sends, tags = Sends(), []
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            tags.append(tag := f"{moment}-{at}")
            code = sends.run(home.environ, home.work, [tag], at, moment)
            wait_until(lambda: not processes_with(str(effects)), "the end of the killed one's tools")
            finish(application)
        assert code == 0
        assert len(tags) > 15, "a turn with two children has more appends than that"
        facts = facts_of(application.log)
        assert_all_is_done_once(application.log, [])
        assert_at_most_once(counted(effects), tags)
        assert_views_agree(application.log, home.path / "views")
        exported = home.run("events", "--after", "0", "--json")
        assert violations([json.loads(line) for line in exported.out.splitlines()]) == []
        assert set(assert_children_ended_once(application.log)) == {"completed"}
    answered = [fact.answer for fact in facts if isinstance(fact, e.TurnCompleted)]
    roots = [fact for fact in facts if isinstance(fact, e.TurnSubmitted) and fact.source == "cli"]
    assert sorted(f"Done: {fact.text}" for fact in roots) == sorted(
        each for each in answered if each.startswith("Done")
    )
