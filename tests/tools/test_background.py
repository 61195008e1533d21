"""Background processes: they outlive who started them, and end with all that they started."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from hermes_jobs.bootstrap.toolbox import default_tools
from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools import background
from hermes_jobs.tools.background import BackgroundProcess, BackgroundProcesses
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.process_files import Lifetime
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.terminal import TerminalOptions
from hermes_jobs.tools.toolbox import Toolbox
from tests.tools.support import Switch, context_in, processes_with, wait_until


class Shop:
    """A folder with the tools of the terminal, and what runs in the background of it."""

    def __init__(self, folder: Path) -> None:
        self.mark = f"mark-{uuid4().hex}"
        self.work = folder / "work"
        self.work.mkdir()
        (folder / "home").mkdir()
        paths = PathPolicy(home=str(folder / "home"), user_home=str(folder))
        self.known = BackgroundProcesses(folder / "home" / "run" / "processes")
        options = TerminalOptions(
            policy=CommandPolicy(paths=paths),
            sandbox=Sandbox(paths=paths),
            environ={**os.environ, "MARK": self.mark},
            background=self.known,
        )
        self.tools = Toolbox(default_tools(options, paths), enabled=("terminal",))

    def ask(self, tool: str, /, attended: bool = True, **arguments: object) -> ToolOutcome:
        asked = ToolCall("x", tool, json.dumps(arguments))
        return self.tools.run(asked, context_in(self.work, attended=attended), None, Switch())

    def verdict(self, *, attended: bool = True, **arguments: object) -> str:
        asked = ToolCall("x", "process", json.dumps(arguments))
        return self.tools.verdict(asked, context_in(self.work, attended=attended)).decision

    def start(self, command: str, **more: str) -> BackgroundProcess:
        said = self.ask("terminal", True, command=command, background=True, **more)
        assert said.content.startswith("Started "), said
        return self.known.find(said.content.split()[1])

    def launch(self, command: str, life: Lifetime = "session") -> BackgroundProcess:
        """Start it without a tool."""
        record = self.known.record(command, context_in(self.work), life=life, name="", shown_command=command)
        return self.known.start(record, {**os.environ, "MARK": self.mark}, Switch())

    def living(self) -> list[int]:
        return processes_with(self.mark)

    def ended(self, process: BackgroundProcess) -> BackgroundProcess:
        wait_until(lambda: self.known.find(process.record.id).is_over, "its end")
        return self.known.find(process.record.id)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path.resolve())
    yield made
    made.known.kill_where(lambda _record: True, wait=True)
    wait_until(lambda: not made.living(), "the end of everything")


def test_it_continues_after_the_call_and_its_output_is_read_in_parts(shop):
    process = shop.start("echo one; read line; echo two $line")
    assert shop.ask("process", action="read", id=process.record.id).content.endswith(
        "bytes 0 to 4 of its output; continue with after=4]\none"
    )
    assert shop.ask("process", action="write", id=process.record.id, text="more\n").ok
    said = shop.ask("process", action="read", id=process.record.id, after=4, wait=60).content
    assert said.endswith("two more")
    assert shop.ended(process).describe_state() == "ended with exit code 0"


def test_an_immediate_failure_is_reported_at_once(shop):
    said = shop.ask("terminal", command="echo oh; exit 3", background=True).content
    assert "has ended already" in said
    assert "ended with exit code 3" in said
    assert said.endswith("oh")


def test_it_ends_with_all_that_it_started_also_in_other_sessions_of_the_system(shop):
    process = shop.start("(setsid sleep 1000 &); sleep 1000 & sleep 1000")
    wait_until(lambda: len(shop.living()) >= 3, "its start")
    assert shop.ask("process", action="kill", id=process.record.id).content.endswith(": stopped.")
    wait_until(lambda: not shop.living(), "the end of all of it")


def test_a_process_that_ignores_term_is_killed(shop):
    process = shop.start("trap '' TERM HUP; while true; do sleep 0.05; done")
    assert shop.known.kill(process).describe_state() == "stopped"
    wait_until(lambda: not shop.living(), "the end of all of it")


def test_a_command_that_leaves_something_running_runs_until_that_ends(shop):
    process = shop.start("sleep 1000 & echo done")
    assert shop.known.find(process.record.id).state == "running"


def test_a_text_is_typed_once_for_each_call(shop):
    process = shop.launch("cat")
    for key in ("c1", "c1", "c2"):
        shop.known.type_text(process, "x\n", key)
    shop.known.type_text(process, "", "c3", close=True)
    ended = shop.ended(process)
    assert shop.known.output(ended, 0, 100).data == b"x\nx\n"
    with pytest.raises(Rejected, match="has ended"):
        shop.known.type_text(ended, "x", "c4")


def test_input_to_a_process_asks_and_is_denied_unattended(shop):
    assert [shop.verdict(action=each, id="p1") for each in ("list", "read", "kill")] == ["allow"] * 3
    assert shop.verdict(action="write", id="p1", text="y\n") == "ask"
    assert shop.verdict(attended=False, action="write", id="p1", text="y\n") == "deny"


def test_commands_are_judged_as_those_that_are_waited_for(shop):
    asked = ToolCall("x", "terminal", json.dumps({"command": "rm -rf build", "background": True}))
    assert shop.tools.verdict(asked, context_in(shop.work)).decision == "ask"


def test_only_the_newest_output_is_kept(shop):
    ended = shop.ended(shop.launch("yes 0123456 | head -c 8000000"))
    output = shop.known.output(ended, None, 16)
    assert (output.end, output.data) == (8_000_000, b"0123456\n0123456\n")
    assert 2_000_000 < output.begins < 8_000_000
    assert "are no longer kept" in shop.ask("process", action="read", id=ended.record.id, after=0).content


def test_its_files_are_for_the_owner_alone(shop):
    folder = shop.known._folder / shop.launch("sleep 1000").record.id
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_processes_of_a_killed_keeper_are_ended_at_the_next_look(shop):
    process = shop.launch("(setsid sleep 1000 &); sleep 1000")
    wait_until(lambda: len(shop.living()) >= 3, "its start")
    os.kill(process.status.keeper, signal.SIGKILL)
    wait_until(lambda: process.status.keeper not in shop.living(), "the keeper's end")
    assert BackgroundProcesses(shop.known._folder).find(process.record.id).describe_state() == (
        "killed with its supervisor"
    )
    wait_until(lambda: not shop.living(), "the end of what it had started")


def test_a_number_that_is_used_again_is_another_process(shop):
    process = shop.launch("sleep 1000")
    file = shop.known._folder / process.record.id / "status.json"
    status = json.loads(file.read_text())
    file.write_text(json.dumps({**status, "keeper": os.getpid()}))
    assert shop.known.find(process.record.id).state == "lost"
    assert os.getpid() in processes_with("")


def test_a_name_is_given_once_and_names_the_process(shop):
    process = shop.start("sleep 1000", name="dev")
    assert process.record.life == "named"
    assert shop.known.find("dev").record.id == process.record.id
    said = shop.ask("terminal", command="sleep 1", background=True, name="dev")
    assert said.content.startswith(f"Error: {process.record.id} runs under the name 'dev' already")
    assert not shop.ask("terminal", command="true", name="dev").ok


def test_the_output_of_a_command_that_reads_from_others_is_theirs_whoever_reads_it(shop):
    shop.start("sleep 1000; curl https://portal.example", name="news")
    shop.start("sleep 1000", name="dev")

    assert shop.ask("process", action="read", id="news").outside.startswith("the command sleep 1000; curl")
    for action, name in (("list", None), ("read", "dev"), ("read", "nobody"), ("kill", "news")):
        assert shop.ask("process", action=action, id=name).outside == ""


def test_last_names_the_newest_and_counts_back_from_it(shop):
    with pytest.raises(Rejected, match="'last'"):
        shop.known.find("last")
    first, second = (shop.start("sleep 1000", name=name).record.id for name in ("one", "two"))
    assert [shop.known.find(named).record.id for named in ("last", "last~1")] == [second, first]
    with pytest.raises(Rejected, match="'last~2'"):
        shop.known.find("last~2")


def test_an_unattended_process_ends_with_its_turn(shop):
    said = shop.ask("terminal", attended=False, command="sleep 1000", background=True)
    assert "It ends with this request at the latest" in said.content


def test_there_is_a_limit_to_how_many_run(shop, monkeypatch):
    monkeypatch.setattr(background, "MAX_RUNNING", 1)
    shop.launch("sleep 1000")
    with pytest.raises(Rejected, match="1 background processes run already"):
        shop.launch("sleep 1000")


def test_a_worker_that_is_gone_starts_nothing(shop):
    class Gone(Switch):
        def share_lease(self) -> int | None:  # type: ignore[override]
            """A lease that has run out."""
            reader, writer = os.pipe()
            os.close(writer)
            return reader

    record = shop.known.record(
        "sleep 1000", context_in(shop.work), life="session", name="", shown_command="x"
    )
    process = shop.known.start(record, {**os.environ, "MARK": shop.mark}, Gone())
    assert shop.ended(process).describe_state() == "not started: its worker was stopped"


def test_ended_ones_are_forgotten_after_a_day(shop):
    ended = shop.ended(shop.launch("true"))
    later = BackgroundProcesses(shop.known._folder, lambda: ended.record.started_at + 90_000)
    assert later.all() == []
    assert list(shop.known._folder.iterdir()) == []
