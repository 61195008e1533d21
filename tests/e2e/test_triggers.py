"""Triggers as CI and hooks use them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.home import Home


def test_the_same_key_from_two_processes_fires_once_and_both_get_its_turn(home: Home) -> None:
    home.run("triggers", "add", "ci", "--task", "Look at it.", "--deliver", "file:out.md")
    (home.work / "log").write_text("1 failed")
    fire = ("trigger", "ci", "-f", "log", "--key", "build-17")
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: home.run(*fire), range(2))
    assert (one.code, other.code) == (0, 0)
    assert one.out == other.out
    waited = home.run(*fire, "--wait")
    assert "1 failed" in waited.out
    assert (home.work / "out.md").read_text().count("Look at it.") == 1
    with home.open_log() as log:
        assert len([fact for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]) == 1
        assert_all_is_done_once(log, [])


def test_what_is_wrong_is_said_and_nothing_is_recorded(home: Home) -> None:
    unknown = home.run("trigger", "nope")
    assert (unknown.code, "no trigger 'nope'" in unknown.err) == (2, True)
    home.run("triggers", "add", "ci", "--task", "Look.")
    assert home.run("trigger", "ci", "a task").code == 2
    assert home.run("triggers", "add", "ci", "--task", "Other.").code == 1
    assert home.run("triggers", "add", "ci", "--task", "Other.", "--replace").code == 0
    (listed,) = json.loads(home.run("triggers", "list", "--json").out)
    assert (listed["plan"]["text"], listed["num_turns"]) == ("Other.", 0)
    assert home.run("send", "x", "--source", "trigger:ci").code == 2


def test_an_edited_trigger_keeps_its_other_options_its_pause_and_what_waits(home: Home) -> None:
    home.run("triggers", "add", "ci", "--task", "Look.", "--debounce", "1h", "--deliver", "file:out.md")
    home.run("trigger", "ci")
    home.run("triggers", "pause", "ci")
    assert home.run("triggers", "edit", "ci", "--task", "Look again.", "--debounce", "2h").code == 0
    shown = json.loads(home.run("show", "ci", "--json").out)["trigger"]
    plan = shown["plan"]
    assert (shown["status"], plan["text"], plan["debounce"]) == ("paused", "Look again.", 7200)
    assert plan["deliver"] == [f"file:{home.work}/out.md"]
    (waiting,) = json.loads(home.run("triggers", "show", "ci", "--json").out)["turns"]
    assert waiting["status"] == "pending"


def test_a_jitter_and_a_debounce_are_too_long_in_the_same_words(home: Home) -> None:
    debounce = home.run("triggers", "add", "ci", "--task", "Look.", "--debounce", "2d")
    jitter = home.run("schedule", "add", "--every", "1h", "--task", "Look.", "--jitter", "2d")
    assert (debounce.code, jitter.code) == (2, 2)
    assert "Invalid value for '--debounce': '2d' is too long: at most 1d." in debounce.err
    assert debounce.err.replace("--debounce", "--jitter").splitlines()[-1] == jitter.err.splitlines()[-1]
