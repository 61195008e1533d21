"""`turns diff` and `turns rewind`, as a person uses them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

BEFORE, AFTER = "import os\nprint('one')\nprint('two')\n", "import os\nprint('one')\nprint('2')\n"
EDIT = Script(
    rules=(
        Rule(
            "edit",
            (
                Answer(
                    tool_calls=(
                        AskedCall(
                            "patch_file", {"path": "app.py", "old_string": "'two'", "new_string": "'2'"}
                        ),
                        AskedCall("write_file", {"path": "new/notes.md", "content": "# Notes\n"}),
                        AskedCall("terminal", {"command": "echo made > by_command"}),
                    )
                ),
                Answer(text="Edited."),
            ),
        ),
        Rule(
            "again",
            (
                Answer(tool_calls=(AskedCall("write_file", {"path": "app.py", "content": "3\n"}),)),
                Answer(text="Ok."),
            ),
        ),
    )
)


@pytest.fixture
def edited(home: Home, model_server: ModelServer) -> str:
    """A turn that has edited a file, made one, and run a command."""
    model_server.follow(EDIT)
    (home.work / "app.py").write_text(BEFORE)
    turn: str = home.send("edit it")["turn"]
    return turn


def events(home: Home, kind: str) -> list[Any]:
    lines = home.run("events", "--json", "-n", "1000").out.splitlines()
    return [each["data"] for each in map(json.loads, lines) if each["type"] == kind]


def test_the_diff_shows_every_file_and_names_those_not_kept(home: Home, edited: str) -> None:
    ran = home.run("turns", "diff", edited)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "--- a/app.py",
        "+++ b/app.py",
        "@@ -1,3 +1,3 @@",
        " import os",
        " print('one')",
        "-print('two')",
        "+print('2')",
        "--- /dev/null",
        "+++ b/new/notes.md",
        "@@ -0,0 +1,1 @@",
        "+# Notes",
    ]
    assert ran.err == "1 command ran in this turn; what it changed is not kept.\n"
    stat = home.run("turns", "diff", edited, "--stat").out
    assert stat.splitlines()[-1] == " 2 files, 2 lines added, 1 line removed"


def test_json_has_digests_states_and_the_present_files(home: Home, edited: str) -> None:
    found = home.run("turns", "diff", edited, "--json").json
    assert [(each["status"], each["added"], each["removed"], each["now"]) for each in found["files"]] == [
        ("changed", 1, 1, "restore"),
        ("created", 1, 0, "restore"),
    ]
    assert found["num_commands"] == 1
    written = events(home, "FileWritten")
    assert {each["change"]["after"]["digest"] for each in written} == {
        each["after"]["digest"] for each in found["files"]
    }


def test_a_rewind_restores_is_recorded_and_is_taken_back(home: Home, edited: str) -> None:
    dry = home.run("turns", "rewind", edited, "--dry-run")
    assert dry.out.splitlines() == [
        f"Would restore: 2 files of turn {edited}",
        "  restore   app.py",
        "  remove    new/notes.md",
    ]
    assert (home.work / "app.py").read_text() == AFTER
    ran = home.run("turns", "rewind", edited)
    assert ran.code == 0, ran
    assert ran.out.splitlines() == [
        f"Undone: 2 files of turn {edited}",
        "  restored  app.py",
        "  removed   new/notes.md",
    ]
    assert f"hermes-jobs turns rewind {edited} --undo" in ran.err
    assert "Commands ran in this turn; their changes are not recorded." in ran.err
    assert (home.work / "app.py").read_text() == BEFORE
    assert sorted(each.name for each in home.work.iterdir()) == ["app.py", "by_command"]
    (restored,) = events(home, "FilesRestored")
    assert restored["by"] == "user"
    assert home.run("turns", "rewind", edited, "--undo").code == 0
    assert (home.work / "app.py").read_text() == AFTER
    assert (home.work / "new/notes.md").read_text() == "# Notes\n"


def test_a_second_rewind_changes_nothing_and_leaves_the_first_to_be_taken_back(
    home: Home, edited: str
) -> None:
    assert home.run("turns", "rewind", edited).code == 0
    again = home.run("turns", "rewind", edited)
    assert (again.code, again.out) == (0, "Nothing to do: all 2 files are as they were before the turn.\n")
    assert "--undo" not in again.err
    assert home.run("turns", "rewind", edited, "new/notes.md", "--undo").out.splitlines()[0] == (
        f"Redone: 1 file of turn {edited}"
    )
    assert home.run("turns", "rewind", edited, "--undo").code == 0
    assert (home.work / "app.py").read_text() == AFTER
    ran = home.run("turns", "rewind", edited, "--undo")
    assert (ran.code, "is redone already" in ran.err) == (1, True)
    assert len(events(home, "FilesRestored")) == 3


def test_a_file_changed_since_stops_the_whole_rewind(home: Home, edited: str) -> None:
    (home.work / "app.py").write_text("mine\n")
    ran = home.run("turns", "rewind", edited)
    assert ran.code == 1
    assert "app.py: it was changed since" in ran.err
    assert "--force" in ran.err
    assert (home.work / "new/notes.md").exists()
    assert events(home, "FilesRestored") == []
    assert home.run("turns", "rewind", edited, "new/notes.md").code == 0
    assert (home.work / "app.py").read_text() == "mine\n"
    assert home.run("turns", "rewind", edited, "--force").code == 0
    assert (home.work / "app.py").read_text() == BEFORE
    assert home.run("turns", "rewind", edited, "--undo").code == 0
    assert (home.work / "app.py").read_text() == "mine\n"


def test_the_model_gets_a_note_of_restored_files(home: Home, model_server: ModelServer, edited: str) -> None:
    assert home.run("turns", "rewind", edited).code == 0
    home.send("-c", "again, please")
    said = model_server.requests[-1].body["messages"]
    told = next(each["content"] for each in said if "again, please" in str(each["content"]))
    assert told.startswith(f"[The user has restored these files to another state: {home.work}/app.py, ")
    assert told.endswith("\n\nagain, please")


def test_wrong_usage_and_turns_without_files(home: Home, edited: str) -> None:
    assert home.run("turns", "rewind", edited, "other.py").code == 2
    assert home.run("turns", "rewind", edited, "--undo").code == 1
    plain = home.send("hello")["turn"]
    ran = home.run("turns", "diff", plain)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"Turn {plain} has changed no files with file tools.\n"
    assert home.run("turns", "rewind", plain).code == 1


def test_an_edit_is_shown_as_a_coloured_diff_on_a_terminal(home: Home, model_server: ModelServer) -> None:
    model_server.follow(EDIT)
    (home.work / "app.py").write_text(BEFORE)
    with Screen(home, "send", "edit it") as screen:
        assert screen.end() == 0
        assert "-print('two')" in screen.text
        assert "+print('2')" in screen.text


def test_the_page_of_a_turn_holds_its_diffs(home: Home, edited: str) -> None:
    page = home.path.parent / "turn.html"
    assert home.run("turns", "show", edited, "--html", str(page)).code == 0
    assert '<span class="removed">-print(&#39;two&#39;)</span>' in page.read_text()
    assert '<span class="added">+# Notes</span>' in page.read_text()


def test_a_chat_takes_back_a_turn_with_its_files(home: Home, model_server: ModelServer) -> None:
    model_server.follow(EDIT)
    (home.work / "app.py").write_text(BEFORE)
    with Screen(home, "chat") as screen:
        screen.shows("/help lists what you can do.")
        for text, shown in (
            ("edit it", "Edited."),
            ("/diff", "+++ b/new/notes.md"),
            ("/undo --files", "restored  app.py"),
        ):
            screen.type(f"{text}\r")
            screen.shows(shown)
        screen.shows("nothing was erased")
        screen.shows("Commands ran in that turn")
        screen.type("/exit\r")
        assert screen.end() == 0
    assert (home.work / "app.py").read_text() == BEFORE
    assert not (home.work / "new").exists()
