"""Whatever a tool does or returns: the call ends in time, its result can be stored, nothing stays behind."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.bootstrap.toolbox import default_tools
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.terminal import TerminalOptions
from hermes_jobs.tools.tool import tool
from hermes_jobs.tools.toolbox import Toolbox

from .support import Desk, Switch, context_in, processes_with

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")
PYTHON = f"{sys.executable} -c"
CODEC = Codec()


def stored(outcome: ToolOutcome) -> str:
    """The content as it comes back from the log."""
    event = ToolFinished(turn="t1", call="t1-1-0", ok=outcome.ok, content=outcome.content)
    encoded = CODEC.encode(event)
    back = CODEC.decode(encoded.type, encoded.data, encoded.schema)
    assert isinstance(back, ToolFinished)
    return back.content


@pytest.fixture
def terminal(tmp_path: Path):
    (tmp_path / "home").mkdir()
    paths = PathPolicy(home=str(tmp_path / "home"), user_home=str(tmp_path))
    policy = CommandPolicy(paths=paths, policy="allow")
    environ = {"PATH": os.environ["PATH"], "MARK": f"ROUGH_{tmp_path.name}_{os.getpid()}"}
    tools = Toolbox(
        default_tools(
            TerminalOptions(policy=policy, sandbox=Sandbox(paths=paths), environ=environ, timeout=30), paths
        ),
        enabled=("terminal",),
    )

    def run(command: str, **more: object) -> ToolOutcome:
        asked = ToolCall("x", "terminal", json.dumps({"command": command, **more}))
        return tools.run(asked, context_in(tmp_path), None, Switch())

    yield run
    assert processes_with(environ["MARK"]) == []


# --- what they return ----------------------------------------------------------------------------


def test_five_megabytes_come_back_whole_and_are_stored_so(terminal):
    outcome = terminal(f"{PYTHON} \"print('0123456789abcde\\n' * 327_680, end='')\"")
    assert stored(outcome) == "0123456789abcde\n" * 327_680


def test_five_results_of_60_000_characters_at_once_are_each_whole(terminal):
    with ThreadPoolExecutor(5) as pool:
        outcomes = list(pool.map(lambda n: terminal(f"{PYTHON} \"print('{n}' * 60_000, end='')\""), range(5)))
    assert [stored(each) for each in outcomes] == [str(n) * 60_000 for n in range(5)]


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("printf 'a\\000b\\001c'", "abc"),
        ("printf 'caf\\351 \\377\\376 \\xed\\xa0\\x80'", "caf� �� ���"),
        ("printf '\\033[31mred\\033[0m \\033]0;title\\007x\\033[2K\\r\\n'", "red x\n"),
        ("printf '\\360\\237\\230\\200 \\342\\200\\256'", "😀 \u202e"),
    ],
    ids=["binary", "invalid UTF-8", "ANSI", "beyond the plane"],
)
def test_bytes_of_any_kind_become_text_that_can_be_stored(terminal, command, content):
    assert stored(terminal(command)) == content


def test_the_output_of_a_program_that_prints_random_bytes_can_be_stored(terminal):
    assert stored(terminal("head -c 200000 /dev/urandom"))


def test_names_of_files_that_are_no_utf_8_break_no_result(tmp_path):
    desk = Desk(tmp_path.resolve())
    odd = os.fsencode(desk.work) + b"/caf\xe9.txt"
    with open(odd, "w") as file:  # noqa: PTH123 - pathlib takes no bytes
        file.write("needle\n")
    for outcome in (
        desk.ask("search_files", pattern="needle"),
        desk.ask("search_files", pattern="caf", mode="names"),
        desk.ask("read_file", path="."),
        desk.ask("read_file", path="cafe.txt"),
    ):
        assert "caf?.txt" in stored(outcome)


@tool(toolset="odd", effect="read")
def say(text: str) -> str:
    return text.encode().decode("unicode_escape")


@tool(toolset="odd", effect="read")
def leave() -> str:
    raise SystemExit(3)


@given(st.text(st.characters(codec=None), max_size=50))
def test_any_text_of_a_tool_can_be_stored(text):
    written = "".join(f"\\U{ord(char):08x}" for char in text)
    outcome = Toolbox((say,), enabled=("odd",)).run(
        ToolCall("x", "say", json.dumps({"text": written})), context_in("/"), None, Switch()
    )
    assert stored(outcome) == outcome.content == text.encode(errors="replace").decode()


def test_a_tool_that_wants_to_end_the_process_ends_its_call_alone():
    outcome = Toolbox((leave,), enabled=("odd",)).run(
        ToolCall("x", "leave", "{}"), context_in("/"), None, Switch()
    )
    assert outcome == ToolOutcome(content="Error: leave failed: SystemExit: 3", ok=False)


# --- what they do --------------------------------------------------------------------------------


@linux
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo begun; sleep 1000", "begun\n[The command was killed after 1 s"),
        ("echo begun; trap '' TERM INT HUP; while :; do :; done", "begun\n[The command was killed after 1 s"),
        ("for i in $(seq 50); do (sleep 1000 &) ; done; sleep 1000", "[The command was killed after 1 s"),
        ("f() { sleep 0.01; f & }; f; sleep 1000", "[The command was killed after 1 s"),
        ("setsid sleep 1000 & disown; sleep 1000", "[The command was killed after 1 s"),
        ("yes", "bytes of output were left out here"),
        ("cat", "(no output)"),
        ("read -r line; echo \"got '$line' $?\"", "got '' 1"),
        ("echo begun; kill -TERM 0; sleep 1000", "begun\n[exit code 143: terminated]"),
        ("echo begun; kill -KILL 0; sleep 1000", "begun\n[exit code 137: killed]"),
        ("kill -STOP $$", "[The command was killed after 1 s"),
        ("exec >&- 2>&-; sleep 1000", "[The command was killed after 1 s"),
    ],
)
def test_a_command_that_misbehaves_ends_in_time_with_an_answer(terminal, command, says):
    outcome = terminal(command, timeout=1)
    assert says in stored(outcome)
    assert not outcome.interrupted


@linux
def test_a_flood_leaves_head_and_tail_and_not_more_than_the_limit(terminal):
    outcome = terminal("echo first; yes; true", timeout=1)
    assert outcome.content.startswith("first\ny\n")
    assert len(outcome.content) < 9 * 1024 * 1024
