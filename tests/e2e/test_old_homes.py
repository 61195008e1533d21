"""A home of an older build opens, shows what it showed there, and goes on.

`tests/golden/home-f23fd15e.tar.gz` was written by the command line of that commit with a scripted model:
turns with tools, files, a sub-agent, a skill, memory with a forgotten entry, a schedule that ran, a
delivery, a fork, a replay, a redaction, a compression, and a turn that waits. Its views are that build's.
"""

from __future__ import annotations

import tarfile
from collections import Counter

import pytest

from tests.home import Home
from tests.processes import ROOT

ARCHIVE = ROOT / "tests" / "golden" / "home-f23fd15e.tar.gz"


@pytest.fixture
def old_home(home: Home) -> Home:
    """That home, unpacked for this build."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(home.path.parent, filter="data")
    return home


def listed(home: Home, *command: str) -> list[dict[str, object]]:
    ran = home.run(*command, "--json")
    assert ran.code == 0, ran.err
    rows: list[dict[str, object]] = ran.json
    return rows


def test_its_log_has_no_contradiction(old_home: Home):
    verified = old_home.run("events", "verify", "--json").json

    assert verified["num_events"] == 273
    assert verified["num_forgotten"] == 9
    assert verified["findings"] == []
    assert verified["unread"] == []


def test_what_it_holds_is_shown(old_home: Home):
    turns = listed(old_home, "turns", "list", "-n", "50")
    assert Counter(turn["status"] for turn in turns) == {"completed": 24, "queued": 1}
    assert {"There are two files.", "The note is written.", "It has seven letters."} <= {
        turn["result"] for turn in turns
    }
    assert [entry["text"] for entry in listed(old_home, "inbox", "list")] == ["Yes, that is so."]
    assert old_home.run("memory", "show", "--json").json["user"]["entries"] == ["Drinks tea."]
    assert [(schedule["task"], schedule["status"]) for schedule in listed(old_home, "schedule", "list")] == [
        ("tell me about the tide", "paused")
    ]
    assert "tide-times" in {skill["name"] for skill in listed(old_home, "skills", "list")}
    assert {review["status"] for review in listed(old_home, "reviews", "list")} == {"completed"}
    assert sum(row["requests"] for row in listed(old_home, "usage")) == 40  # type: ignore[misc]
    assert len(listed(old_home, "sessions", "search", "harbour")) == 3


def test_its_turns_show_steps_and_changed_files(old_home: Home):
    written = next(
        turn
        for turn in listed(old_home, "turns", "list", "-n", "50")
        if turn["result"] == "The note is written."
    )
    shown = old_home.run("turns", "show", str(written["turn"]), "--json").json

    assert [step["name"] for step in shown["steps"]] == ["scripted", "write_file", "scripted"]
    assert "first line" in old_home.run("turns", "diff", str(written["turn"])).out


def test_its_waiting_turn_runs_and_a_compressed_session_goes_on(old_home: Home):
    waiting = next(
        turn for turn in listed(old_home, "turns", "list", "-n", "50") if turn["status"] == "queued"
    )
    compressed = next(
        session
        for session in listed(old_home, "sessions", "list", "--all", "-n", "50")
        if session["session"] != session["lineage"]
    )

    answered = old_home.run("turns", "wait", str(waiting["turn"]), "--json")
    assert answered.json["status"] == "completed", answered.out
    continued = old_home.send("-s", str(compressed["session"]), "What then?")
    assert continued["session"] == compressed["session"]
    assert old_home.run("events", "verify", "--json").json["findings"] == []


def test_its_views_are_built_again_alike(old_home: Home):
    before = listed(old_home, "turns", "list", "-n", "50")
    assert old_home.run("views", "rebuild").code == 0

    assert listed(old_home, "turns", "list", "-n", "50") == before
