"""What goes wrong around a `send`: one clear sentence, the right exit code, no traceback, no secret."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.home import KEY, Home, Ran, Running, endpoint
from tests.model_script import Action, Answer, AskedCall, Drop, Raw, Refuse, Rule, Script
from tests.model_server import ModelServer

ECHOED_KEY = Refuse(status=401, message=f"Incorrect API key provided: {KEY}.")
CHUNK = '{"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [%s]}'
UNUSABLE: dict[str, Action] = {
    "html": Raw(body="<html><body>Welcome to the router</body></html>", content_type="text/html"),
    "nothing": Raw(body=""),
    "no json": Raw(body="data: {this is no json\n\n"),
    "another protocol": Raw(body='{"jsonrpc": "2.0", "result": 7}', content_type="application/json"),
    "no choices": Raw(body=f"data: {CHUNK % ''}\n\ndata: [DONE]\n\n"),
    "cut off": Drop(text="I begin and"),
    "bad gateway": Refuse(status=502, body="<html>502</html>"),
}


def assert_one_sentence(ran: Ran, *words: str) -> None:
    """An error and perhaps a hint, each on a line; no traceback, no secret, nothing on standard output."""
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert [line.partition(":")[0] for line in lines] in (["Error"], ["Error", "Hint"]), ran.err
    assert all(word in ran.err for word in words), ran.err
    assert_no_secret(ran)


def assert_no_secret(ran: Ran) -> None:
    assert "Traceback" not in ran.err
    assert KEY not in ran.out + ran.err


# --- the model -------------------------------------------------------------------------------


def test_a_refused_key_is_one_sentence_and_is_stored_nowhere(home: Home, model_server: ModelServer) -> None:
    model_server.follow([ECHOED_KEY])
    ran = home.run("send", "Hello")
    assert ran.code == 4
    assert_one_sentence(ran, "401", "OPENAI_API_KEY")
    assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = home.run("turns", "list", "--json")
    assert shown.json[0]["error"]["kind"] == "auth"
    for ran in (shown, home.run("events", "--json"), home.run("config", "show", "--origin")):
        assert ran.code == 0
        assert_no_secret(ran)
    assert home.files_holding(KEY) == []
    with home.open_log() as log:
        assert_all_is_done_once(log, [])


def test_no_secret_reaches_the_commands_that_the_model_runs(home: Home, model_server: ModelServer) -> None:
    parents = "import os; print(open(f'/proc/{os.getppid()}/environ').read())"
    look = AskedCall("terminal", {"command": f'env; python3 -c "{parents}"'})
    model_server.follow(Script(rules=(Rule("Look", (Answer(tool_calls=(look,)), Answer(text="Seen."))),)))
    assert home.send("Look around.")["result"] == "Seen."
    seen = model_server.requests[-1].messages[-1]["content"]
    assert seen.count("PATH=") >= 2, seen
    assert KEY not in str(model_server.requests[-1].messages)
    assert home.files_holding(KEY) == []


@pytest.mark.slow
def test_an_unusable_endpoint_fails_the_turn_after_its_retries(tmp_path: Path) -> None:
    """All at once, since each takes as long as its retries wait."""
    with ExitStack() as stack:
        running: dict[str, tuple[Home, ModelServer | None, Running]] = {}
        for number, (name, action) in enumerate(UNUSABLE.items()):
            server = ModelServer(Script(default=action)).start()
            stack.callback(server.close)
            home = Home(tmp_path / str(number), endpoint(server.base_url))
            running[name] = (home, server, stack.enter_context(home.start("send", "Hello")))
        nowhere = Home(tmp_path / "nowhere", endpoint(f"http://127.0.0.1:{_closed_port()}/v1"))
        running["nobody listens"] = (nowhere, None, stack.enter_context(nowhere.start("send", "Hello")))
        for name, (home, asked, process) in running.items():
            ran = process.end()
            assert ran.code == 1, (name, ran)
            assert_one_sentence(ran)
            with home.open_log() as log:
                assert_all_is_done_once(log, [])
                failures = [fact for fact in facts_of(log) if isinstance(fact, e.ModelCallFailed)]
            assert [fact.retry_at is None for fact in failures] == [False, False, False, True], name
            assert asked is None or len(asked.requests) == 4, name
            assert home.files_holding(KEY) == []


# --- the configuration -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("modle:\n  model: x\n", ("modle", "model")),
        ("model:\n  modell: x\n", ("model.modell", "model.model")),
        ("agent:\n  max_iterations: many\n", ("agent.max_iterations", "many")),
        ("agent: {max_iterations: 0}\n", ("agent.max_iterations", "0")),
        ("agent: [1, 2\n", ("config.yaml",)),
        ("just a text\n", ("config.yaml",)),
    ],
)
def test_a_wrong_configuration_stops_the_command_before_anything_is_recorded(
    home: Home, written: str, words: tuple[str, ...]
) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "config.yaml").write_text(written)
    ran = home.run("send", "Hello")
    assert ran.code == 2
    assert_one_sentence(ran, *words)
    assert not (home.path / "events.db").exists()


def test_a_wrong_variable_is_named(home: Home) -> None:
    ran = home.run("send", "Hello", HERMES_JOBS_AGENT__MAX_ITERATIONS="many")
    assert ran.code == 2
    assert_one_sentence(ran, "HERMES_JOBS_AGENT__MAX_ITERATIONS", "many")


def test_a_home_that_cannot_be_made_is_named(home: Home) -> None:
    (home.work / "file").write_text("")
    path = str(home.work / "file" / "home")
    ran = home.run("send", "Hello", HERMES_JOBS_HOME=path)
    assert ran.code == 2
    assert_one_sentence(ran, path)


# --- the log ---------------------------------------------------------------------------------


def test_a_log_that_cannot_be_reached_is_exit_code_5(home: Home) -> None:
    url = f"postgresql://somebody:not-to-be-seen@127.0.0.1:{_closed_port()}/hermes"
    ran = home.run("send", "Hello", HERMES_JOBS_LOG_URL=url)
    assert ran.code == 5
    assert_one_sentence(ran)
    assert "not-to-be-seen" not in ran.err


@pytest.mark.parametrize("damage", ["another file", "overwritten", "cut off"])
def test_a_damaged_log_is_exit_code_5(home: Home, damage: str) -> None:
    home.send("Hello")
    path = home.path / "events.db"
    whole = path.read_bytes()
    damaged = {
        "another file": b"This is no database. " * 1000,
        "overwritten": whole[:4096] + b"\xaa" * (len(whole) - 4096),
        "cut off": whole[: len(whole) // 2 // 4096 * 4096],
    }
    path.write_bytes(damaged[damage])
    ran = home.run("send", "Hello again")
    assert ran.code == 5, ran
    assert_one_sentence(ran)
    assert path.read_bytes() == damaged[damage]


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_budget_that_could_not_hold_is_refused_before_anything_is_recorded(home: Home) -> None:
    ran = home.run("send", "hello", HERMES_JOBS_BUDGETS__DAY_USD="1")
    assert ran.code == 2
    assert "budgets.day_usd" in ran.err
    assert home.run("turns", "list", "--json").json == []
