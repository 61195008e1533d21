"""The `terminal` tool as the model meets it."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from hermes_jobs.bootstrap.toolbox import default_tools
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.terminal import TerminalOptions
from hermes_jobs.tools.toolbox import Toolbox

from .support import Switch, context_in, wait_until


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    (tmp_path / "home").mkdir()
    paths = PathPolicy(home=str(tmp_path / "home"), user_home="/nowhere")
    options = TerminalOptions(
        policy=CommandPolicy(paths=paths), sandbox=Sandbox(paths=paths), environ=os.environ, timeout=20
    )
    return Toolbox(default_tools(options, paths), enabled=("terminal",))


@pytest.fixture
def terminal(tools: Toolbox, tmp_path: Path):
    def run(*, cancel: Switch | None = None, workdir: Path = tmp_path, **arguments: object) -> ToolOutcome:
        asked = ToolCall("x", "terminal", json.dumps(arguments))
        return tools.run(asked, context_in(workdir), None, cancel or Switch())

    return run


def test_the_output_of_a_command_that_went_well_is_the_whole_answer(terminal):
    assert terminal(command="echo hello; echo you >&2") == ToolOutcome(content="hello\nyou\n")


def test_a_command_without_output_says_so(terminal):
    assert terminal(command="true").content == "(no output)"


def test_an_exit_code_that_is_not_0_follows_the_output(terminal):
    assert terminal(command="printf hello; exit 3") == ToolOutcome(content="hello\n[exit code 3]", ok=False)
    assert terminal(command="kill -9 $$").content == "[exit code 137: killed]"


def test_a_timeout_returns_the_output_so_far_and_says_when_it_was_killed(terminal):
    outcome = terminal(command="echo begun; sleep 1000", timeout=1)
    assert outcome.content.startswith("begun\n[The command was killed after 1 s")
    assert not outcome.ok
    assert not outcome.interrupted


@pytest.mark.parametrize("timeout", [0, 0.5, 601, "soon"])
def test_a_timeout_out_of_bounds_is_an_invalid_call(terminal, timeout):
    outcome = terminal(command="true", timeout=timeout)
    assert outcome.invalid
    assert "`timeout`" in outcome.content


def test_a_timeout_may_be_written_as_text_or_left_null(terminal):
    assert terminal(command="true", timeout="30").ok
    assert terminal(command="true", timeout=None).ok


def test_an_empty_command_is_invalid(terminal):
    assert terminal(command="").invalid


def test_a_missing_working_folder_is_named(terminal, tmp_path):
    outcome = terminal(command="true", workdir=tmp_path / "gone")
    assert outcome.content.startswith(
        f"Error: the working folder {tmp_path / 'gone'} does not exist on this host"
    )
    assert not outcome.invalid


def test_a_session_without_a_working_folder_names_the_missing_key(terminal):
    outcome = terminal(command="true", workdir="")
    assert not outcome.ok
    assert "`agent.workdir`" in outcome.content


def test_too_long_a_command_is_refused_with_advice(terminal):
    assert "Write a script to a file" in terminal(command="echo " + "x" * 200_000).content


def test_a_denied_command_does_not_run(terminal, tmp_path):
    (tmp_path / "kept").touch()
    outcome = terminal(command="rm -r kept; rm -rf /")
    assert "refused (deleting a whole system or home folder)" in outcome.content
    assert (tmp_path / "kept").exists()


def test_a_cancelled_command_is_interrupted_with_its_output_so_far(terminal, tmp_path):
    switch = Switch()
    outcomes: list[ToolOutcome] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(terminal(command="echo begun; touch ready; sleep 1000", cancel=switch))
    )
    thread.start()
    wait_until((tmp_path / "ready").exists, "the command to begin")
    switch.fire()
    thread.join(20)
    assert outcomes[0].interrupted
    assert outcomes[0].content.startswith("begun\n[The command was interrupted")


def test_each_call_is_a_fresh_shell(terminal, tmp_path):
    terminal(command="cd /; X=1")
    assert terminal(command="pwd; echo x$X").content == f"{tmp_path}\nx\n"


def test_a_terminal_call_is_a_write_and_the_default_time_is_configured(tools):
    plan = tools.plan("t", [ToolCall("x", "terminal", '{"command": "ls"}')], "/")
    assert plan[0].effect == "write"
    spec = next(each for each in tools.specs(None) if each.name == "terminal")
    assert spec.parameters["required"] == ["command"]


def test_its_description_has_the_hidden_paths_and_the_order_of_commands(tools):
    (spec,) = (each for each in tools.specs(None) if each.name == "terminal")
    told = " ".join(spec.description.split())
    assert "Commands of one message that only read run side by side, others in order" in told
    assert "A sandbox hides keys, credentials and the home of hermes-jobs" in told
    assert "/" not in told, "the text is the same on every machine: prompt caches hold it"
