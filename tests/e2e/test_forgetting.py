"""Forgetting on the command line: the text is nowhere in the home, and everything else is as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.dying_forgetting import PARTS
from tests.home import Home, Ran
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tables import sampled
from tests.tools.support import wait_until

WORD = "zanzibar"


@pytest.fixture
def told(home: Home, model_server: ModelServer) -> Home:
    """A home that has heard the word: in a conversation, in the memory, in a large result, in a title."""
    (home.work / "notes.txt").write_text(f"{WORD} line\n" * 500)
    save = AskedCall("memory", {"action": "add", "target": "user", "content": 'Lives in "Zanzibar"'})
    read = AskedCall("terminal", {"command": "cat notes.txt"})
    written = AskedCall("write_file", {"path": "out.txt", "content": "A file from Zanzibar"})
    model_server.follow(
        Script(
            rules=(
                Rule("remember", (Answer(tool_calls=(save, read, written)), Answer(text="Zanzibar it is."))),
            )
        )
    )
    turn = home.send("Please remember that I live in Zanzibar.", HERMES_JOBS_TOOLS__RESULT_CHARS="500")
    home.run("sessions", "rename", turn["session"], "My zanzibar")
    home.run("skills", "list")
    home.send("Something else.", "--key", "Zanzibar key")
    (home.path / "chat_history").write_text(
        "\n# 2026-11-23 10:00:00\n+in Zanzibar\n+two\n\n# 2026-11-23\n+other\n"
    )
    (home.path / "logs" / "worker.log").write_text("a line\nof Zanzibar here\n")
    return home


def is_gone(home: Home) -> bool:
    return not any(
        WORD in path.read_bytes().decode("utf-8", "replace").casefold()
        for path in home.path.rglob("*")
        if path.is_file()
    )


def kept_contents(home: Home) -> list[Path]:
    """What is kept of files that were written."""
    return [path for path in (home.path / "snapshots" / "contents").rglob("*") if path.is_file()]


def verified(home: Home) -> Ran:
    ran = home.run("events", "verify", "--json")
    assert ran.code == 0, ran
    return ran


def facts(home: Home) -> list[tuple[object, ...]]:
    """What no removal changes."""
    lines = home.run("events", "--json").out.splitlines()
    events = [json.loads(line) for line in lines]
    names = ("position", "stream", "version", "type", "meta", "recorded_at")
    return [tuple(json.dumps(each[name]) for name in names) for each in events]


def test_a_redacted_text_is_nowhere_and_all_else_stays(told: Home) -> None:
    before, usage = facts(told), told.run("usage", "--json").json
    ran = told.run("redact", "Zanzibar", "--yes", "--why", "It was wrong", "--json")
    assert ran.code == 0, ran
    assert ran.json["num_results"] == 1
    assert ran.json["num_keys"] == 2, "the title and the key"
    assert is_gone(told)
    assert not kept_contents(told)
    assert facts(told)[:-1] == before
    assert told.run("usage", "--json").json == usage
    assert verified(told).json["num_forgotten"] == ran.json["num_events"]
    assert (told.path / "memories" / "USER.md").read_text() == 'Lives in "[redacted]"\n'
    assert (told.path / "chat_history").read_text() == (
        "\n# 2026-11-23 10:00:00\n+in [redacted]\n+two\n\n# 2026-11-23\n+other\n"
    )
    assert (told.path / "logs" / "worker.log").read_text() == "a line\nof ******** here\n"


@pytest.fixture
def in_the_background(home: Home, model_server: ModelServer) -> tuple[Home, str, str]:
    """A home with a named process whose command and output hold the word; the process, and its session."""
    command = "echo Zanzibar; exec sleep 600"
    asked = AskedCall("terminal", {"command": command, "background": True, "name": "server"})
    model_server.follow(Script(rules=(Rule("begin", (Answer(tool_calls=(asked,)), Answer(text="Ok."))),)))
    session = home.send("begin")["session"]
    (process,) = home.run("processes", "list", "--json").json
    return home, process["process"], session


def test_commands_and_outputs_of_background_processes_are_redacted_while_they_run(
    in_the_background: tuple[Home, str, str],
) -> None:
    home, process, _ = in_the_background
    wait_until(lambda: "Zanzibar" in home.run("processes", "read", process).out, "output")
    told = home.run("redact", WORD, "--yes")
    assert "run/processes/ (1 process)" in told.err
    assert is_gone(home)
    (there,) = home.run("processes", "list", "--json").json
    assert (there["state"], there["command"]) == ("running", "echo [redacted]; exec sleep 600")
    assert home.run("processes", "read", process).out == "********\n"
    assert home.run("processes", "kill", process).code == 0
    folder = home.path / "run" / "processes" / process
    (folder / "output.0").write_bytes(b"first\nzanz")
    (folder / "output.10").write_bytes(b"ibar zanzibar\nlast\n")
    assert home.run("redact", WORD, "--yes").code == 0
    assert home.run("processes", "read", process).out == "first\n******** ********\nlast\n"


def test_processes_of_a_deleted_session_are_ended_with_a_name_too(
    in_the_background: tuple[Home, str, str],
) -> None:
    home, _, session = in_the_background
    assert home.run("sessions", "delete", session, "--yes").code == 0
    assert home.run("processes", "list", "--all", "--json").json == []
    assert is_gone(home)


def test_a_forgotten_text_is_found_nowhere_and_in_no_new_backup(told: Home, tmp_path: Path) -> None:
    assert told.run("redact", WORD, "-y").code == 0
    assert told.run("sessions", "search", WORD, "--json").json == []
    session = told.run("sessions", "list", "--json").json[-1]["session"]
    assert WORD not in told.run("sessions", "show", session, "--json").out.casefold()
    assert WORD not in told.run("events", "--json").out.casefold()
    assert told.run("views", "rebuild").code == 0
    assert is_gone(told)
    assert told.run("export", str(tmp_path / "export.jsonl")).code == 0
    assert WORD not in (tmp_path / "export.jsonl").read_text().casefold()
    assert told.run("backup", str(tmp_path / "backup.zip")).code == 0
    other = Home(tmp_path / "other", {"HERMES_JOBS_MODEL": "rehearsal"})
    restored = other.run("import", str(tmp_path / "backup.zip"), "--yes")
    assert restored.code == 0, restored
    assert verified(other).json["num_forgotten"] == verified(told).json["num_forgotten"]
    assert is_gone(other)
    assert (other.path / "memories" / "USER.md").read_text() == 'Lives in "[redacted]"\n'


def test_the_conversation_continues_without_it(told: Home, model_server: ModelServer) -> None:
    session = told.run("sessions", "list", "--json").json[-1]["session"]
    told.run("redact", WORD, "-y")
    told.send("-s", session, "And now?")
    assert WORD not in json.dumps(model_server.requests[-1].messages).casefold()
    assert verified(told)


@pytest.mark.parametrize("arguments", [["redact", WORD, "--dry-run"], ["redact", WORD]])
def test_a_dry_run_or_a_missing_confirmation_removes_nothing(told: Home, arguments: list[str]) -> None:
    before = facts(told)
    ran = told.run(*arguments)
    assert ran.code == (0 if "--dry-run" in arguments else 2)
    assert "session-" in ran.err
    assert facts(told) == before


def test_a_pattern_from_standard_input_stays_out_of_the_history_of_the_shell(told: Home) -> None:
    assert told.run("redact", "-", stdin=f"{WORD}\n").code == 2
    assert told.run("redact", "-", "--yes", stdin=f"{WORD}\n").code == 0
    assert is_gone(told)


WRONG_USAGE = [
    ["redact", "--regex", "("],
    ["redact", "--regex", "a*", "-y"],
    ["redact", "", "-y"],
    ["redact", WORD, "-y", "--why", f"no more {WORD}"],
    ["memory", "forget", "99", "-y"],
    ["memory", "forget", "0"],
]


def test_wrong_usage_is_refused_before_anything_is_removed(told: Home) -> None:
    before = facts(told)
    for arguments in WRONG_USAGE:
        ran = told.run(*arguments)
        assert ran.code == 2, ran
        assert ran.err
        assert facts(told) == before


def test_a_deleted_session_keeps_its_cost_and_no_text(told: Home) -> None:
    before, usage = facts(told), told.run("usage", "--json").json
    first = told.run("sessions", "list", "--json").json[-1]["session"]
    ran = told.run("sessions", "delete", "My zanzibar", "--yes")
    assert ran.code == 0, ran
    assert "stays: what it led to in the memory, writes 1" in ran.err
    assert [each["session"] for each in told.run("sessions", "list", "--json").json] != []
    assert first not in told.run("sessions", "list").out
    assert first in told.run("sessions", "list", "--all").out
    assert told.run("usage", "--json").json == usage
    assert facts(told)[: len(before)] == before
    assert "lives in" not in told.run("sessions", "show", first, "--json").out.casefold()
    assert verified(told)
    again = told.run("send", "-s", first, "Are you there?")
    assert (again.code, "has ended (deleted)" in again.err) == (1, True)
    assert told.run("sessions", "delete", first, "--yes").code == 0
    assert not kept_contents(told)
    assert told.run("memory", "forget", "1", "--yes").code == 0
    assert not told.files_holding("Lives in")


def test_an_unread_answer_of_a_deleted_session_leaves_the_log_consistent(home: Home) -> None:
    home.send("hello", "--deliver", "cli")

    assert home.run("sessions", "delete", "last", "-y").code == 0

    assert verified(home).json["findings"] == []


def test_a_fork_shares_the_history_so_both_go_or_none(told: Home) -> None:
    first = told.run("sessions", "list", "--json").json[-1]["session"]
    fork = told.run("sessions", "fork", first).out.strip()
    refused = told.run("sessions", "delete", first, "--yes")
    assert (refused.code, fork in refused.err) == (1, True)
    assert told.run("sessions", "delete", first, "--with-forks", "--yes").code == 0
    assert fork not in told.run("sessions", "list").out
    assert verified(told)


def test_a_forgotten_entry_is_answered_for_truthfully(told: Home) -> None:
    assert told.run("memory", "forget", "1", "--yes", "--why", "moved").code == 0
    assert not told.files_holding("Lives in")
    [removed, added] = told.run("memory", "log", "--json").json
    assert (added["content"], removed["old"]) == ("[forgotten]", "[forgotten]")
    assert added["forgotten"]["why"] == "moved"
    assert "by you: moved" in told.run("memory", "log").out
    undo = told.run("memory", "undo", "1")
    assert (undo.code, "by you: moved" in undo.err) == (1, True)
    assert "Texts of 2 writes were removed" in told.run("memory", "why", "Lives").err
    assert told.run("memory", "show", "--json").json["user"]["entries"] == []


@pytest.mark.parametrize("part", sampled(PARTS, 6))
def test_after_a_kill_the_next_run_continues(told: Home, part: str) -> None:
    with told.launch("tests.faults.dying_forgetting", part, "redact", WORD, "--yes") as running:
        assert running.end().code == -9
    assert verified(told)
    told.run("memory", "show")  # the files of the memory may hold what the log has forgotten
    ran = told.run("redact", WORD, "--yes")
    assert ran.code == 0, ran
    assert is_gone(told)
    assert verified(told).json["num_forgotten"] > 0
    assert (told.path / "memories" / "USER.md").read_text() == 'Lives in "[redacted]"\n'
    assert len(told.run("memory", "log", "--json").json) == 1


def test_another_process_of_the_home_that_is_open_follows(told: Home) -> None:
    with told.start("events", "--follow", "--json") as follower:
        assert told.run("redact", WORD, "-y").code == 0
        follower.process.kill()
    assert is_gone(told)
