"""What a command's environment sets holds for its turn while other processes of the home work."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.screen import Screen
from tests.home import KEY, Home, Ran, is_confined
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import processes_with, wait_until

OTHER_KEY = "sk-that-only-this-shell-has-0123456789"


def command(text: str, line: str, **arguments: Any) -> Rule:
    """The model runs a command when it is told that, and then says that it did."""
    asked = AskedCall("terminal", {"command": line, **arguments})
    return Rule(text, (Answer(tool_calls=(asked,)), Answer(text="Done.")))


SCRIPT = Script(
    rules=(
        command("Delete", "rm -rf build"),
        command("Sleep", "sleep 20"),
        command("Show locale", 'echo "$LANG|$LC_ALL|$TZ"'),
        command("Show FOO", 'echo "FOO is ${FOO-unset}"'),
        Rule("Loop", (Answer(tool_calls=(AskedCall("todo", {"todos": []}),)),)),
        Rule("Hold", (Hold(answer=Answer(text="Held.")),)),
    ),
    default=Answer(text="Yes."),
)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with contextlib.closing(ModelServer(SCRIPT).start()) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Iterator[Home]:
    """A home in which `up` works, with settings of its own."""
    home = Home(tmp_path_factory.mktemp("settings"), {"OPENAI_API_KEY": KEY})
    home.path.mkdir(mode=0o700)
    write(home, server)
    with home.start("up", "--no-flower", "--no-beat") as running:
        running.wait_for("hermes-jobs is up")
        yield home
        running.signal(signal.SIGTERM)
        running.end()
    for process in processes_with(f"HERMES_JOBS_HOME={home.path}"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def elsewhere() -> contextlib.closing[ModelServer]:
    """Another endpoint."""
    return contextlib.closing(ModelServer(Script(default=Answer(text="Elsewhere."))).start())


def write(home: Home, server: ModelServer, more: str = "") -> None:
    """The home's `config.yaml`."""
    model = f"model: {{model: scripted, base_url: '{server.base_url}'}}\n"
    (home.path / "config.yaml").write_text(model + more)


def events(home: Home, turn: str) -> list[dict[str, Any]]:
    lines = map(json.loads, home.run("events", "--json").out.splitlines())
    return [each for each in lines if each["data"].get("turn") == turn]


def of_type(home: Home, turn: str, kind: str) -> dict[str, Any]:
    return next(each for each in events(home, turn) if each["type"] == kind)


def worked_on_by(home: Home, turn: str) -> set[str]:
    """The kinds of processes that made the turn's model calls."""
    started = [each for each in events(home, turn) if each["type"] == "ModelCallStarted"]
    return {each["meta"]["worker"].partition("-")[0] for each in started}


def newest_turn(home: Home) -> str:
    turn: str = home.run("turns", "list", "-n", "1", "--json").json[0]["turn"]
    return turn


# --- what travels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "text", "code", "said"),
    [
        ({"HERMES_JOBS_BUDGETS__TURN_TOKENS": "100"}, "Hello", 1, "budgets.turn_tokens allows 100 tokens"),
        ({"HERMES_JOBS_TERMINAL__POLICY": "deny"}, "Delete", 0, "terminal.policy is deny"),
        ({"HERMES_JOBS_TERMINAL__ALLOW": "[ls]"}, "Show FOO", 0, "terminal.allow has no pattern"),
        ({"HERMES_JOBS_TERMINAL__TIMEOUT": "1"}, "Sleep", 0, "killed after 1 s"),
        ({"HERMES_JOBS_AGENT__MAX_ITERATIONS": "1"}, "Loop", 0, '"stopped_by":"max_iterations"'),
        ({"HERMES_JOBS_TOOLSETS__ENABLED": "[files]"}, "Show FOO", 0, "there is no tool `terminal`"),
        ({"HERMES_JOBS_MODEL": "another"}, "Hello", 0, '"model":"another"'),
    ],
)
def test_a_setting_of_the_shell_holds_for_its_turn(
    home: Home, variables: dict[str, str], text: str, code: int, said: str
) -> None:
    ran = home.run("send", "--json", text, **variables)

    assert ran.code == code, ran
    turn = ran.json["turn"]
    assert said in ran.out + ran.err + home.run("turns", "show", turn, "--json").out + str(events(home, turn))
    assert worked_on_by(home, turn) <= {"worker"}
    assert of_type(home, turn, "TurnSubmitted")["data"]["settings"]


def test_the_next_turn_has_the_worker_s_own_settings(home: Home) -> None:
    turn = home.send("Hello")["turn"]
    assert of_type(home, turn, "TurnSubmitted")["data"]["settings"] == (
        {} if is_confined() else {"terminal.allow": ["*"]}
    )
    assert home.send("Hello", "-m", "scripted")["model"] == "scripted"


def test_the_shell_may_allow_commands_that_the_file_asks_about(home: Home) -> None:
    (home.work / "build").mkdir(exist_ok=True)
    ran = home.run("send", "--json", "Delete", HERMES_JOBS_TERMINAL__POLICY="allow")
    assert (ran.code, ran.json["status"]) == (0, "completed")
    assert not (home.work / "build").exists()


def test_the_endpoint_of_the_shell_is_asked_with_the_same_key(home: Home, server: ModelServer) -> None:
    with elsewhere() as other:
        ran = home.run("send", "--json", "Hello", OPENAI_BASE_URL=other.base_url)

        assert (ran.code, ran.json["result"]) == (0, "Elsewhere.")
        assert worked_on_by(home, ran.json["turn"]) == {"worker"}
        assert other.requests[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_resumed_turn_keeps_its_settings_and_adds_those_of_the_resuming_shell(home: Home) -> None:
    turn = home.run("send", "--json", "Hello", HERMES_JOBS_BUDGETS__TURN_TOKENS="100").json["turn"]

    again = home.run("turns", "retry", turn, "--json")
    assert (again.code, again.json["error"]["kind"]) == (1, "budget")
    more = home.run("turns", "retry", turn, "--json", HERMES_JOBS_BUDGETS__TURN_TOKENS="null")
    assert (more.code, more.json["status"]) == (0, "completed")


@pytest.mark.parametrize(
    ("flags", "shown"), [(["--env", "FOO"], "bar"), (["--env", "FOO=x=y"], "x=y"), ([], "unset")]
)
def test_commands_get_the_variables_that_are_named(home: Home, flags: list[str], shown: str) -> None:
    turn = home.send("Show FOO", *flags, FOO="bar")["turn"]
    assert f"FOO is {shown}" in str(events(home, turn))
    assert worked_on_by(home, turn) == {"worker"}


def test_the_person_s_locale_and_zone_hold_for_their_turn(home: Home) -> None:
    turn = home.send("Show locale", LANG="de_DE.UTF-8", LC_ALL="", TZ="Asia/Tokyo")["turn"]

    assert "de_DE.UTF-8||Asia/Tokyo" in str(events(home, turn))
    assert worked_on_by(home, turn) == {"worker"}
    settings = of_type(home, turn, "TurnSubmitted")["data"]["settings"]
    assert settings["schedules.timezone"] == "Asia/Tokyo"


def test_a_variable_of_the_text_that_does_not_travel_is_named(home: Home) -> None:
    told = home.run("send", "Hello, what is $FOO and ${BAR} in $HOME?", FOO="1", BAR="2")
    assert "FOO, BAR: set in this shell" in told.err
    assert "--env FOO --env BAR" in told.err
    assert "set in this shell" not in home.run("send", "Hello, $FOO?", "--env", "FOO", FOO="1").err
    assert "set in this shell" not in home.run("send", "Hello, $FOO?").err
    assert "A_TOKEN: looks like a secret" in home.run("send", "Hello, $A_TOKEN?", A_TOKEN="word-0123").err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("NOSUCH", "NOSUCH is not set here"),
        ("GITHUB_TOKEN=abcdefgh", "looks like a secret"),
        ("OPENAI_API_KEY", "looks like a secret"),
        (f"FOO={KEY}", "looks like a secret"),
        ("FOO=http://me:word@h/", "looks like a secret"),
        ("HERMES_JOBS_HOME", "belongs to hermes-jobs"),
        ("1=2", "not the name of a variable"),
    ],
)
def test_a_variable_that_commands_may_not_have_is_refused(home: Home, given: str, said: str) -> None:
    ran = home.run("send", "Hello", "--env", given)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())


def test_settings_that_cannot_travel_are_named(home: Home) -> None:
    ran = home.run("send", "Hello", HERMES_JOBS_MEMORY__RECALL="true")
    assert ran.code == 0
    assert "HERMES_JOBS_MEMORY__RECALL: does not travel with a turn" in ran.err


# --- what only one process has --------------------------------------------------------------------------


def test_a_key_that_only_the_shell_has_is_used_by_the_command_itself(home: Home, server: ModelServer) -> None:
    ran = home.run("send", "--json", "Hello", OPENAI_API_KEY=OTHER_KEY)

    assert (ran.code, ran.json["result"]) == (0, "Yes.")
    assert server.requests[-1].headers["authorization"] == f"Bearer {OTHER_KEY}"
    assert worked_on_by(home, ran.json["turn"]) == {"inline"}
    told = home.run("send", "Hello", OPENAI_API_KEY=OTHER_KEY).err
    assert "The workers do not have the settings of this turn (OPENAI_API_KEY)" in told
    required = of_type(home, ran.json["turn"], "TurnSubmitted")["data"]["requires"]
    assert set(required) == {"OPENAI_API_KEY"}
    assert len(required["OPENAI_API_KEY"].partition("@")[0]) == 6


def test_only_settings_that_the_workers_lack_are_named(home: Home) -> None:
    brave = {"HERMES_JOBS_WEB__SEARCH__PROVIDER": "brave", "BRAVE_API_KEY": OTHER_KEY}
    ran = home.run("send", "--json", "Hello", **brave)
    assert worked_on_by(home, ran.json["turn"]) == {"inline"}
    required = of_type(home, ran.json["turn"], "TurnSubmitted")["data"]["requires"]
    assert set(required) == {"OPENAI_API_KEY", "BRAVE_API_KEY"}
    assert "of this turn (BRAVE_API_KEY)" in home.run("send", "Hello", **brave).err


def test_a_foreign_key_with_no_wait_is_refused_and_nothing_is_recorded(home: Home) -> None:
    before = home.run("events", "--json").out
    ran = home.run("send", "--no-wait", "Hello", OPENAI_API_KEY=OTHER_KEY)

    assert (ran.code, ran.out) == (2, "")
    assert "OPENAI_API_KEY" in ran.err
    assert ".env" in ran.err
    assert home.run("events", "--json").out == before


def test_a_key_of_the_worker_is_not_sent_to_an_address_of_the_shell(home: Home) -> None:
    with elsewhere() as other:
        ran = home.run("send", "--json", "Hello", OPENAI_BASE_URL=other.base_url, OPENAI_API_KEY="")

        assert (ran.code, ran.json["result"]) == (0, "Elsewhere.")
        assert worked_on_by(home, ran.json["turn"]) == {"inline"}
        assert KEY not in str([each.headers for each in other.requests])


def test_a_password_in_an_address_is_never_recorded(home: Home) -> None:
    with elsewhere() as other:
        address = other.base_url.replace("http://", "http://me:secret-word@")
        ran = home.run("send", "--json", "Hello", OPENAI_BASE_URL=address)

        assert worked_on_by(home, ran.json["turn"]) == {"inline"}  # whether it can use that is its own affair
        assert "secret-word" not in ran.out + ran.err
        assert home.files_holding("secret-word") == []


def test_a_turn_whose_process_died_goes_to_no_other_endpoint(home: Home, server: ModelServer) -> None:
    with home.start("send", "Hold", OPENAI_API_KEY=OTHER_KEY) as sending:
        server.wait_until(lambda: any("Hold" in seen.last_user_text for seen in server.requests))
        sending.process.kill()
    turn = newest_turn(home)
    ran = home.run("turns", "wait", turn, "--json")

    assert (ran.code, ran.json["error"]["kind"]) == (4, "auth")
    assert f"turns retry {turn}" in ran.json["error"]["hint"]
    server.release()
    again = home.run("turns", "retry", turn, "--json", OPENAI_API_KEY=OTHER_KEY)
    assert (again.code, again.json["result"]) == (0, "Held.")


def test_a_chat_with_a_key_of_its_own_does_its_turns_itself(home: Home, server: ModelServer) -> None:
    with Screen(home, "chat", OPENAI_API_KEY=OTHER_KEY) as screen:
        screen.shows("· new session")  # below the prompt, which is there then
        screen.type("Hello from the chat\r")
        screen.shows("Yes.")
        screen.type("\x04")
        assert screen.end() == 0
    assert server.requests[-1].headers["authorization"] == f"Bearer {OTHER_KEY}"
    assert worked_on_by(home, newest_turn(home)) == {"inline"}


def test_a_chat_says_which_settings_of_its_shell_are_ignored(home: Home) -> None:
    shell = Screen(
        home, "chat", columns=120, OPENAI_API_KEY=OTHER_KEY, HERMES_JOBS_MEMORY__RECALL="true", PLANET="Mars"
    )
    # Recall is on: a variable of another test would bring its text back, and the script answers that one.
    with shell as screen:
        screen.shows("HERMES_JOBS_MEMORY__RECALL: does not travel with a turn")
        screen.shows("The workers do not have the settings of this shell (OPENAI_API_KEY)")
        screen.shows("· new session")
        screen.type("Hello $PLANET\r")
        screen.shows("PLANET: set in this shell")
        screen.shows("hermes-jobs chat --env PLANET")
        screen.shows("Yes.")
        screen.type("\x04")
        assert screen.end() == 0
    with Screen(home, "chat", columns=120) as screen:
        screen.shows("· new session")  # below the prompt, which is there then
        screen.type("\x04")
        assert screen.end() == 0
        assert "workers" not in screen.text


def test_an_impossible_delivery_is_refused_at_once(home: Home) -> None:
    words = ("schedule", "add", "--yes", "--every", "2h", "--task", "x", "--deliver", "telegram:1")
    added = home.run(*words, "--json")
    assert added.code == 0
    assert "TELEGRAM_BOT_TOKEN is not set" in added.err
    told = home.run(*words, "--json", TELEGRAM_BOT_TOKEN="4242:nobody-may-ever-see-this-token-0123")
    assert "TELEGRAM_BOT_TOKEN" not in told.err


def test_doctor_says_that_workers_lack_the_token_of_the_bot(home: Home) -> None:
    token = {"TELEGRAM_BOT_TOKEN": "4242:nobody-may-ever-see-this-token-0123"}
    checks = home.run("doctor", "--json", **token).json["checks"]
    assert any("answers do not arrive" in check["message"] for check in checks)


# --- what the files say while a process works -----------------------------------------------------------


def test_changed_files_apply_from_the_next_step(home: Home, server: ModelServer) -> None:
    write(home, server, "terminal: {policy: deny}\n")
    assert "terminal.policy is deny" in str(events(home, home.send("Delete")["turn"]))

    set_max = home.run("config", "set", "model.max_tokens", "77")
    assert "Running processes reread it" in set_max.err
    home.send("Hello")
    assert server.requests[-1].body["max_tokens"] == 77
    write(home, server)


def test_a_file_that_is_broken_changes_nothing_and_doctor_says_so(home: Home, server: ModelServer) -> None:
    write(home, server, "model_: x\n")
    try:
        wait_until(lambda: "continues with what it read before" in doctor(home).out, "doctor")
    finally:
        write(home, server)
    assert home.send("Hello")["result"] == "Yes."


def test_settings_that_need_a_restart_are_named(home: Home, server: ModelServer) -> None:
    ran = home.run("config", "set", "workers.concurrency", "9")
    assert "hermes-jobs down" in ran.err
    try:
        wait_until(lambda: "workers.concurrency" in doctor(home).out, "doctor")
    finally:
        write(home, server)


def doctor(home: Home) -> Ran:
    return home.run("doctor", "--json")


def test_no_secret_is_anywhere(home: Home) -> None:
    for secret in (KEY, OTHER_KEY):
        assert home.files_holding(secret) == []
