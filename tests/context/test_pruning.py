"""What is left of a long tool result: which call it was, and how it ended."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.features.compression.prune import prune
from hermes_jobs.features.web.tools import FetchedPage
from hermes_jobs.features.web.tools import outcome as web_outcome
from hermes_jobs.kernel.turns.loop_guard import WARNING
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, ToolMessage
from hermes_jobs.kernel.turns.tool_results import preview_of
from hermes_jobs.tools.command_outcome import outcome as terminal_outcome
from hermes_jobs.tools.processes import Completed

OUTPUT = "collecting …\n" * 40 + "FAILED tests/test_x.py::test_y\n1 failed, 3 passed in 0.12s\n"


def line(name: str, arguments: dict[str, object], content: str) -> str:
    call = ToolCall("c1", name, json.dumps(arguments))
    small = prune((AssistantMessage("", (call,)), ToolMessage("c1", name, content)))
    return small[1].content


def test_a_command_that_failed_says_its_exit_code_and_its_last_words() -> None:
    told = line("terminal", {"timeout": 60, "command": "pytest -q"}, f"{OUTPUT}[exit code 1]")
    assert told.startswith("[pruned] terminal(pytest -q) failed, exit code 1: 1 failed, 3 passed in 0.12s; ")


@pytest.mark.parametrize(
    ("note", "outcome"),
    [
        ("", "ok, exit code 0; "),
        ("[exit code 137: killed]", "failed, exit code 137: killed: 1 failed"),
        (
            "[The command was killed after 30 s with all that it had started. A longer …]",
            "timed out after 30 s",
        ),
        ("[The command was interrupted and killed; what it had done …]", "was interrupted"),
        ("[exit code 2]\n[1 of its processes could not be killed and may still run.]", "failed, exit code 2"),
    ],
)
def test_each_end_of_a_command_is_said(note: str, outcome: str) -> None:
    assert f"terminal(make) {outcome}" in line("terminal", {"command": "make"}, OUTPUT + note)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("", "ok; "), (", HTTP 404 Not Found", "failed, HTTP 404; "), (", HTTP 203", "ok, HTTP 203; ")],
)
def test_a_page_says_its_status(status: str, outcome: str) -> None:
    header = f"[https://example.org/a, text/html{status}: characters 1–400 of 400]\n"
    told = line("web_fetch", {"offset": 0, "url": "https://example.org/a"}, header + "x" * 400)
    assert told.startswith(f"[pruned] web_fetch(https://example.org/a) {outcome}")


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("read_file", {"offset": 10, "limit": 5, "path": "src/a.py"}, "src/a.py"),
        ("search_files", {"path": ".", "pattern": "x+"}, "."),
        ("session_search", {"limit": 3, "query": "Rome"}, "Rome"),
        ("mcp_thing", {"what": ["a", 1]}, '["a", 1]'),
    ],
)
def test_the_telling_argument_is_named(name: str, arguments: dict[str, object], shown: str) -> None:
    assert line(name, arguments, "x" * 500).startswith(f"[pruned] {name}({shown}) ok; ")


def test_an_error_says_itself_also_behind_a_warning() -> None:
    error = "Error: there is no file src/b.py." + " Nearest: src/a.py." * 30
    for content in (error, WARNING + error):
        told = line("read_file", {"path": "src/b.py"}, content)
        assert told.startswith("[pruned] read_file(src/b.py) failed: Error: there is no file src/b.py.")


def test_of_a_result_that_was_stored_elsewhere_no_success_is_claimed() -> None:
    content = preview_of("x" * 9_000, "results/t1-1-0.txt", 300)
    assert " ok" not in line("terminal", {"command": "make"}, content)


def test_a_result_that_came_before_says_how_it_ended_too() -> None:
    call, again = (ToolCall(name, "terminal", '{"command": "make"}') for name in ("c1", "c2"))
    result = f"{OUTPUT}[exit code 2]"
    small = prune(
        (
            *(AssistantMessage("", (call,)), ToolMessage("c1", "terminal", result)),
            *(AssistantMessage("", (again,)), ToolMessage("c2", "terminal", result)),
        )
    )
    assert small[3].content.startswith("[pruned] terminal(make) failed, exit code 2")
    assert small[3].content.endswith("the same result as before")


def test_pruning_reads_the_tools_output_format() -> None:
    killed = Completed(output=OUTPUT, exit_code=None, timed_out=True)
    assert "timed out after 5 s" in line("terminal", {}, terminal_outcome(killed, 5.0).content)
    failed = Completed(output=OUTPUT, exit_code=3)
    assert "failed, exit code 3" in line("terminal", {}, terminal_outcome(failed, 5.0).content)
    page = FetchedPage(
        url="https://example.org", status=404, content_type="text/html", text="x" * 400, length=400
    )
    assert "failed, HTTP 404" in line("web_fetch", {}, web_outcome(page, 0).content)
