"""A model that is configured or asked for and has no key is an error, not a rehearsal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_server import ModelServer

MISSING = "Error: OPENAI_API_KEY is not set, and OpenAI needs it for gpt-6.1-terra."
HINT = "Hint: Run `hermes-jobs setup`"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, {})


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["send", "-m", "gpt-6.1-terra", "Hello"], {}),
        (["send", "--json", "Hello"], {"HERMES_JOBS_MODEL": "gpt-6.1-terra"}),
        (["up", "--no-flower"], {"HERMES_JOBS_MODEL": "gpt-6.1-terra"}),
    ],
)
def test_a_model_that_is_named_and_has_no_key_is_exit_code_4_before_anything_is_recorded(
    home: Home, arguments: list[str], environ: dict[str, str]
) -> None:
    ran = home.run(*arguments, **environ)

    assert ran.code == 4
    assert MISSING in ran.err
    assert HINT in ran.err
    assert not ran.out
    assert not home.run("events", "--json").out


def test_a_chat_does_not_begin_without_the_key_of_its_model(home: Home) -> None:
    with Screen(home, "chat", "-m", "gpt-6.1-terra") as screen:
        assert screen.end() == 4
        assert MISSING in screen.text


def test_a_schedule_is_not_run_without_the_key_of_its_model(home: Home) -> None:
    added = home.run("schedule", "add", "--yes", "--every", "1h", "--task", "Say hello", "--json")
    assert added.code == 0, added
    named = home.run(
        "schedule", "add", "--yes", "--every", "1h", "--task", "x", "--model", "gpt-6.1-terra", "--json"
    )
    assert named.code == 0, named

    configured = home.run("schedule", "run", added.json["schedule"], HERMES_JOBS_MODEL="gpt-6.1-terra")
    of_its_own = home.run("schedule", "run", named.json["schedule"])

    for ran in (configured, of_its_own):
        assert ran.code == 4
        assert MISSING in ran.err
    assert home.run("turns", "list", "--json").json == []


def test_where_nothing_was_ever_named_the_rehearsal_answers_and_says_so(home: Home) -> None:
    told = home.send("What do you remember about me?")

    assert told["model"] == "rehearsal"
    assert "hermes-jobs setup" in told["result"]
    assert home.run("memory", "show", "--json").json["user"]["entries"] == []


def test_a_session_of_another_model_is_not_answered_by_the_rehearsal(
    home: Home, model_server: ModelServer
) -> None:
    session = home.send("-m", "gpt-6.1-terra", "Hello", OPENAI_BASE_URL=model_server.base_url)["session"]

    ran = home.run("send", "--session", session, "And now?")

    assert ran.code == 4
    assert MISSING in ran.err
