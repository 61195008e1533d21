"""Calls of one message: those that only read run side by side, and nobody can tell from what they leave."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.bootstrap.toolbox import default_tools
from hermes_jobs.kernel.engine.ports import ProvidedSpec
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.plugin_tools import plugin_tools
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.terminal import TerminalOptions
from hermes_jobs.tools.toolbox import Toolbox

from .support import Switch, context_in

READING = (
    "cat a", "cat b 2>/dev/null", "ls", "ls -a d | wc -l", "grep -r x . | sort", "head -1 a | tr a-z A-Z",
    "find . -name '*.txt'", "test -f a && cat d/c", "wc -c < a", "cd d && ls", "true",
)  # fmt: skip
CHANGING = (
    "echo x >> a", "echo y > b", "rm -f a", "mkdir -p d; echo z > d/c", "mv a b", "cp a d/c", "touch e.txt",
    "sed -i s/x/q/ a", "tee b < a", "sort -o a a", "find . -name e.txt -delete", "cat a d/* >> b",
)  # fmt: skip
UNKNOWN = (
    "cat $FILE",
    "git diff --output=b",
    "./run.sh",
    "date -s now",
    "cat a > b",
    "ls; ./x",
    "echo 'open",
)


def toolbox_at(home: Path) -> Toolbox:
    paths = PathPolicy(home=str(home / "home"), user_home=str(home / "user"))
    options = TerminalOptions(
        policy=CommandPolicy(paths=paths), sandbox=Sandbox(paths=paths), environ=os.environ, timeout=20
    )
    plugin = [ProvidedSpec(name, name, {}, effect=name) for name in ("read", "idempotent", "write")]
    tools = (*default_tools(options, paths), *plugin_tools(plugin, lambda *_: "", toolset="plugin"))
    return Toolbox(tools, enabled=("terminal", "files", "plugin"))


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall("x", name, json.dumps(arguments))


def command(text: str, /, **more: object) -> ToolCall:
    return call("terminal", command=text, **more)


def order(tools: Toolbox, calls: Sequence[ToolCall], workdir: Path) -> list[set[int]]:
    """For each call the places of those that it waits for."""
    return [
        {int(one.rpartition("-")[2]) for one in plan.after} for plan in tools.plan("t", calls, str(workdir))
    ]


calls_of_a_message = st.lists(
    st.one_of(
        st.sampled_from(READING).map(command),
        st.sampled_from(READING).map(command),
        st.sampled_from(CHANGING).map(command),
        st.sampled_from("ab").map(lambda name: call("write_file", path=name, content=f"{name} x\n")),
        st.sampled_from("ab").map(lambda name: call("read_file", path=name)),
        st.just(call("search_files", pattern="x")),
    ),
    min_size=2,
    max_size=7,
)


@given(calls_of_a_message, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_what_calls_leave_and_answer_is_what_it_is_one_by_one(
    calls: Sequence[ToolCall], chance: random.Random
):
    """Given any calls of one message, when each starts as soon as those that it waits for have ended, in any
    order and at the same time, then the folder and the answers are those of one call after the other."""
    with TemporaryDirectory() as name:
        alone, beside = (folder_in(Path(name), each) for each in ("alone", "beside"))
        tools = toolbox_at(Path(name))
        one_by_one = [answer(tools, each, alone) for each in calls]
        waits = order(tools, calls, beside)
        answers: dict[int, str] = {}
        with ThreadPoolExecutor(8) as threads:
            while len(answers) < len(calls):
                due = [at for at in range(len(calls)) if at not in answers and waits[at] <= answers.keys()]
                chance.shuffle(due)
                answers |= zip(
                    due, threads.map(lambda at: answer(tools, calls[at], beside), due), strict=True
                )
        assert [answers[at] for at in range(len(calls))] == one_by_one
        assert contents(beside) == contents(alone)


def folder_in(root: Path, name: str) -> Path:
    folder = root / name
    (folder / "d").mkdir(parents=True)
    (folder / "a").write_text("x\n")
    (folder / "d" / "c").write_text("c x\n")
    return folder


def answer(tools: Toolbox, asked: ToolCall, folder: Path) -> str:
    if asked.name == "terminal":
        shell = ["bash", "-c", json.loads(asked.arguments)["command"]]
        ended = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)
        return f"{ended.returncode} {ended.stdout} {ended.stderr}"
    content = tools.run(asked, context_in(folder), None, Switch()).content.replace(str(folder), "")
    return content.partition(" It holds:")[0]  # a hint: its neighbours, of which one may be written just then


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


@given(st.lists(st.sampled_from(READING), min_size=2, max_size=6))
def test_commands_that_only_read_start_together(texts):
    tools, here = toolbox_at(Path("/w")), Path("/w/work")
    assert order(tools, [*map(command, texts)], here) == [set()] * len(texts)


@pytest.mark.parametrize("text", [*CHANGING, *UNKNOWN])
def test_a_command_not_known_to_read_waits_for_all_and_all_wait_for_it(text):
    """Given such a command between two that read, a file tool, and tools without files."""
    tools, here = toolbox_at(Path("/w")), Path("/w/work")
    calls = [command("cat a"), call("read_file", path="b"), command(text), command("ls"), command("cat a")]
    assert order(tools, [*calls, call("todo")], here) == [set(), set(), {0, 1}, {2}, {2}, set()]


def test_a_command_that_reads_waits_for_a_file_tool_that_writes_before_it():
    tools, here = toolbox_at(Path("/w")), Path("/w/work")
    calls = [call("write_file", path="a", content="x"), command("cat b"), call("read_file", path="b")]
    assert order(tools, calls, here) == [set(), {0}, set()]


def test_what_starts_in_the_background_keeps_its_order():
    """Given a command that reads, and stays: another call may ask for it by its name."""
    tools, here = toolbox_at(Path("/w")), Path("/w/work")
    calls = [command("tail -f a", background=True, name="log"), command("cat a")]
    assert order(tools, calls, here) == [set(), {0}]


@pytest.mark.parametrize("effect", ["idempotent", "write"])
def test_a_tool_of_others_runs_beside_what_reads_only_if_it_is_declared_to_read(effect):
    tools, here = toolbox_at(Path("/w")), Path("/w/work")
    reading = [command("ls"), call("read"), call("read"), call("read_file", path="a")]
    assert order(tools, reading, here) == [set()] * 4
    assert order(tools, [*reading, call(effect), call("read")], here)[-2:] == [{0, 1, 2, 3}, {4}]


def test_a_tool_of_a_server_that_this_process_does_not_know_keeps_its_order():
    tools, here = toolbox_at(Path("/w")), Path("/w/work")
    assert order(tools, [call("files__move"), command("ls"), call("nobody")], here) == [set(), {0}, set()]
