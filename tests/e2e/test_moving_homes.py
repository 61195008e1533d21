"""A home is backed up while a turn is running, and continues elsewhere, or is paused there until resumed."""

from __future__ import annotations

import json
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.home import KEY, Home, Running, endpoint
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

NOTE_IT = AskedCall("memory", {"action": "add", "target": "memory", "content": "Likes tea."})
SCRIPT = Script(
    rules=(
        Rule("Remember", (Answer(tool_calls=(NOTE_IT,)), Answer(text="Noted.", reasoning="It matters."))),
        Rule("Wait", (Hold(),)),
    )
)


@pytest.fixture
def lived(home: Home, model_server: ModelServer) -> Home:
    """A home that remembers something, has a skill and a configuration of its own."""
    model_server.follow(SCRIPT)
    home.send("Remember")
    (home.path / "SOUL.md").write_text("Be kind.\n")
    (home.path / "config.yaml").write_text(
        "agent:\n  max_iterations: 7  # few\nlog_url: null\nbroker_url: null\n"
    )
    (home.path / ".env").write_text("WEBHOOK_SECRET=very-secret-indeed\n")
    (home.path / ".env").chmod(0o600)
    skill = home.path / "skills" / "tea"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tea\ndescription: Make tea.\n---\nBoil water.\n")
    (home.path / "commands").mkdir()
    (home.path / "commands" / "tidy.md").write_text("Tidy up.\n")
    return home


def scheduled(home: Home) -> None:
    """It also has a schedule."""
    assert home.run("schedule", "add", "Say hi every day at 9am", "--yes").code == 0


@contextmanager
def under_way(home: Home) -> Iterator[Running]:
    """A turn whose model call never ends."""

    def asked() -> bool:
        with home.open_log() as log:
            return any(isinstance(fact, e.ModelCallStarted) for fact in facts_of(log)[-1:])

    with home.start("send", "--json", "Wait") as running:
        wait_until(asked, "the call")
        yield running


def other(tmp_path: Path, model_server: ModelServer) -> Home:
    """Another home, empty."""
    return Home(tmp_path / "elsewhere", endpoint(model_server.base_url))


@pytest.mark.slow
def test_running_turns_continue_in_the_home_that_resumes_them(
    lived: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    scheduled(lived)
    with under_way(lived) as running:
        running.signal(signal.SIGKILL)
    backup = tmp_path / "backup.zip"
    assert lived.run("backup", str(backup)).code == 0
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    model_server.release()
    there = other(tmp_path, model_server)
    assert there.run("import", str(backup), "--resume", "--yes").code == 0
    assert there.run("events", "verify").code == 0
    assert (there.path / "SOUL.md").read_text() == "Be kind.\n"
    assert (there.path / "commands" / "tidy.md").read_text() == "Tidy up.\n"
    assert "Likes tea." in (there.path / "memories" / "MEMORY.md").read_text()
    [turn] = there.run("turns", "list", "--status", "running", "--json").json
    went_on = there.run("turns", "wait", turn["turn"], "--json")
    assert (went_on.code, went_on.json["result"]) == (0, "Released.")
    schedules = there.run("schedule", "list", "--json").json
    assert [each["status"] for each in schedules] == ["active"]
    with there.open_log() as log:
        abandoned = [fact for fact in facts_of(log) if isinstance(fact, e.StepAbandoned)]
        assert [fact.reason for fact in abandoned] == ["died"]


@pytest.mark.slow
def test_a_copy_rests_while_its_original_continues(
    lived: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    scheduled(lived)
    there, backup = other(tmp_path, model_server), tmp_path / "backup.zip"
    with under_way(lived) as running:
        assert lived.run("backup", str(backup)).code == 0
        told = there.run("import", str(backup), "--yes")
        assert told.code == 0, told
        assert "Paused, turns" in told.err
        assert "Paused, schedules" in told.err
        assert there.run("events", "verify").code == 0
        with there.open_log() as log:
            assert_all_is_done_once(log, [])
        model_server.release()
        assert running.end().json["result"] == "Released."
    [copy] = there.run("turns", "list", "--status", "cancelled", "--json").json
    assert there.run("turns", "retry", copy["turn"], "-q").out == "Released.\n"
    assert [each["status"] for each in there.run("schedule", "list", "--json").json] == ["paused"]
    assert there.run("config", "show", "--json").json["agent.max_iterations"] == 7
    assert (there.path / "skills" / "tea" / "SKILL.md").exists()


@pytest.mark.slow
def test_a_backup_holds_no_secret_and_a_home_is_never_overwritten(lived: Home, tmp_path: Path) -> None:
    backup = tmp_path / "backup.zip"
    done = lived.run("backup", str(backup))
    assert ".env is not included" in done.err
    with ZipFile(backup) as archive:
        names = archive.namelist()
        held = b"".join(archive.read(name) for name in names)
    assert sorted(names) == [
        "events.jsonl",
        "home/SOUL.md",
        "home/commands/tidy.md",
        "home/config.yaml",
        "home/memories/MEMORY.md",
        "home/skills/tea/SKILL.md",
    ]
    assert KEY.encode() not in held
    assert b"very-secret-indeed" not in held
    before = backup.read_bytes()
    again = lived.run("backup", str(backup))
    assert (again.code, backup.read_bytes()) == (2, before)
    assert "--force" in again.err
    assert lived.run("backup", str(backup), "--force").code == 0
    refused = lived.run("import", str(backup))
    assert refused.code == 2
    assert "is not empty" in refused.err
    assert not list(tmp_path.glob(".backup*"))
    broken, empty = tmp_path / "broken.zip", Home(tmp_path / "empty", {})
    broken.write_bytes(before[: len(before) // 2])
    assert "is damaged" in empty.run("import", str(broken)).err
    assert not (empty.path / "SOUL.md").exists()


def _hash(line: str) -> str | None:
    """What an event's line stands for, wherever it is."""
    found: str | None = json.loads(line).get("hash")
    return found


@pytest.mark.slow
def test_a_session_moves_alone_and_conversations_become_training_data(
    lived: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    [session] = lived.run("sessions", "list", "--json").json
    printed = lived.run("sessions", "export", session["session"])
    there, file = other(tmp_path, model_server), tmp_path / "session.jsonl"
    file.write_text(printed.out)
    came = there.run("import", str(file), "--json").json
    assert came["streams"] == [f"session-{session['session']}"]
    assert there.run("import", str(file), "--json").json["num_events"] == 0
    again = there.run("sessions", "export", session["session"]).out
    assert [_hash(line) for line in again.splitlines()] == [_hash(line) for line in printed.out.splitlines()]
    packed = tmp_path / "all.jsonl.gz"
    assert lived.run("export", str(packed)).code == 0
    assert there.run("import", str(packed), "--sessions", "--json").json["num_events"] == 0
    [line] = lived.run("export", "--format", "sharegpt", "--no-system", "-").out.splitlines()
    said = json.loads(line)["conversations"]
    assert [each["from"] for each in said] == ["human", "gpt", "tool", "gpt"]
    call = json.loads(said[1]["value"].removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))
    assert call == {"name": "memory", "arguments": NOTE_IT.arguments}
    assert said[3]["value"] == "<think>\nIt matters.\n</think>\nNoted."
    assert lived.run("export", "--format", "sharegpt", "--since", "2100-01-01", "-").out == ""
