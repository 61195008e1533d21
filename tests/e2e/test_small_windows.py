"""Sessions with a model that a server of one's own serves with 4,096 tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.testing import ToolCall
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN
from tests.home import Home, endpoint
from tests.llm.own_servers import MODEL, WINDOW, LlamaCpp, Ollama, OwnServer
from tests.model_script import Answer

FEW = {"terminal", "process", "read_file", "write_file", "patch_file", "search_files"}


@pytest.fixture(params=[LlamaCpp, Ollama], ids=lambda kind: kind.__name__)
def server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    made: OwnServer = request.param()
    made.start()
    made.is_loaded = True
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path, server: OwnServer) -> Home:
    own = {"HERMES_JOBS_MODEL": MODEL, "HERMES_JOBS_MODEL__PROVIDER": server.provider}
    return Home(tmp_path, {**endpoint(server.base_url), **own})


def tools_of(seen: object) -> set[str]:
    return {tool["function"]["name"] for tool in seen.body.get("tools", [])}  # type: ignore[attr-defined]


def test_a_turn_calls_a_tool_within_a_small_window(home: Home, server: OwnServer, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Buy milk.\n", "utf-8")
    call = ToolCall("read_file", {"path": str(tmp_path / "notes.txt")})
    server.answers = [Answer(tool_calls=(call,)), Answer(text="Milk.")]
    ran = home.run("send", "--workdir", str(tmp_path), "What do I need?")
    assert (ran.code, ran.out.strip()) == (0, "Milk.")
    assert ran.err.count(f"the model's window is {WINDOW:,} tokens: this session has few tools") == 1
    first, second = server.requests
    assert tools_of(first) == tools_of(second) == FEW
    assert "Buy milk." in str(second.messages[-1])
    assert server.counted(first) < WINDOW / 2, "the prompt and the tools leave half of the window"
    assert sum(len(str(tool)) for tool in first.body["tools"]) / CHARACTERS_A_TOKEN < WINDOW / 2


def test_the_toolset_stays_that_of_the_sessions_start(home: Home, server: OwnServer) -> None:
    assert home.run("send", "Hello").code == 0
    server.window = 32_768
    ran = home.run("send", "-c", "And now?")
    assert (ran.code, "few tools" in ran.err) == (0, False)
    assert home.run("send", "A new session").code == 0
    begun, continued, new = server.requests
    assert tools_of(begun) == tools_of(continued) == FEW
    assert tools_of(new) > FEW
    (known,) = home.run("models", "show", "--json").json["models"]
    assert known["window"] == 32_768, "a later process knows it, too"


def test_a_prompt_that_does_not_fit_is_told_with_what_to_do(home: Home, server: OwnServer) -> None:
    ran = home.run("send", "A sentence of some words. " * 2_000)
    assert ran.code == 1
    assert f"{WINDOW:,}" in ran.err or str(WINDOW) in ran.err
    assert "Hint:" in ran.err


def test_doctor_shows_the_window_and_the_tools_that_fit_it(home: Home, server: OwnServer) -> None:
    checks = home.run("doctor", "--live", "--json").json["checks"]
    (line,) = [check for check in checks if check["check"] == "live.window"]
    assert line["status"] == "warn"
    assert line["message"].startswith(f"{WINDOW:,} tokens (named by the server")
    assert line["message"].endswith("few tools, below 8,000: files, terminal")
    assert "OLLAMA_CONTEXT_LENGTH" in line["hint"]
