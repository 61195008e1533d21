"""`send` as a person sees it: the answer as Markdown while it is said, the tools while they run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

import pytest

from hermes_jobs.interfaces.cli.turns.live_display import NEW_ANSWER_NOTICE
from hermes_jobs.runtime.broker_address import find_server
from tests.e2e.screen import Screen
from tests.faults.redis_server import RedisServer
from tests.home import Home, Running
from tests.model_script import Answer, AskedCall, Drop, Hold, Rule, Script
from tests.model_server import ModelServer

FIRST = "# The report\n\nAll is **well** in\n\n- the first place\n- the sec"
REST = "ond place\n\nThat is `all`."
HELD = Script(rules=(Rule("report", (Hold(first=FIRST, answer=Answer(text=REST)),)),))
SHOWN = ["The report", "All is well in", " • the first place", " • the second place", "That is all."]


@pytest.fixture
def broker(home: Home, tmp_path: Path) -> Iterator[RedisServer]:
    """A broker that the home names; nobody works there yet."""
    with RedisServer(find_server(), tmp_path) as broker:
        home.environ["HERMES_JOBS_BROKER_URL"] = broker.url
        yield broker


@contextmanager
def worker(home: Home) -> Iterator[Running]:
    """One more worker, that is up."""
    with home.start("worker") as running:
        running.wait_for("ready.")
        yield running


def shown_lines(screen: Screen) -> list[str]:
    return [line for line in screen.text.splitlines() if not line.startswith(("·", "Finishing"))]


def test_the_answer_is_shown_as_markdown_while_it_is_said(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with Screen(home, "send", "A report, please.") as screen:
        screen.shows("• the sec")
        assert "ond place" not in screen.text
        model_server.release()
        assert screen.end() == 0
        assert shown_lines(screen) == SHOWN


@pytest.mark.slow
def test_the_text_of_another_worker_is_shown_as_it_streams(
    home: Home, model_server: ModelServer, broker: RedisServer
) -> None:
    model_server.follow(HELD)
    with worker(home), Screen(home, "send", "A report, please.") as screen:
        screen.shows("• the sec")
        assert "ond place" not in screen.text
        turn = home.run("turns", "list", "--json").json[0]["turn"]
        with Screen(home, "turns", "follow", turn) as late:
            late.shows("• the sec")  # also to who comes when half of it is said
            broker.kill()  # which costs no word of the answer: the log has it
            model_server.release()
            broker.start()
            assert (late.end(), screen.end()) == (0, 0)
            assert shown_lines(late) == shown_lines(screen) == SHOWN


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_speaks_is_a_pause(
    home: Home, model_server: ModelServer, broker: RedisServer
) -> None:
    model_server.follow([Hold(first="Words of the dead wor"), Answer(text="Words of the living.")])
    with worker(home) as first, Screen(home, "send", "Speak.") as screen:
        screen.shows("Words of the dead wor")
        with worker(home):
            first.signal(SIGKILL)
            assert screen.end() == 0
        assert shown_lines(screen) == ["Words of the living."]


def test_tools_are_shown_while_they_run_and_before_the_answer(home: Home, model_server: ModelServer) -> None:
    wait = "while [ ! -e go ]; do sleep 0.05; done"
    calls = (AskedCall("terminal", {"command": wait}), AskedCall("terminal", {"command": "exit 3"}))
    model_server.follow([Answer(text="Let me *look*.", tool_calls=calls), Answer(text="It is there.")])
    home.environ["HERMES_JOBS_TOOLS__SERIALIZE_TERMINAL"] = "false"
    with Screen(home, "send", "Look.") as screen:
        screen.shows("· terminal exit 3: failed")
        screen.shows(f"· terminal {wait[:30]}")
        (home.work / "go").touch()
        assert screen.end() == 0
        assert shown_lines(screen) == ["Let me look.", "It is there."]
        assert screen.text.count(": ok,") == 1


def test_the_text_of_a_failed_attempt_is_replaced_by_the_next(home: Home, model_server: ModelServer) -> None:
    model_server.follow([Hold(first="Said and kept.\n\nThe sec", answer=Drop()), Answer(text="At last.")])
    with Screen(home, "send", "Try.") as screen:
        screen.shows("The sec")
        model_server.release()
        assert screen.end() == 0
        _header, kept, told, again, answer, *_footer = screen.text.splitlines()
        assert (kept, again, answer) == ("Said and kept.", NEW_ANSWER_NOTICE, "At last.")
        assert told.startswith("· the model call failed")


def test_ctrl_c_keeps_the_text_and_names_the_command_to_continue(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(HELD)
    with Screen(home, "send", "A report, please.") as screen:
        screen.shows("• the sec")
        screen.interrupt()
        screen.shows("Stopped waiting", times=1)
        assert screen.end() == 130
        text = screen.text
        assert text.index("• the sec") < text.index("Stopped waiting")
        assert "Traceback" not in text


def test_nothing_of_a_terminal_reaches_a_pipe(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    model_server.release()
    assert home.run("send", "--stream", "A report, please.").out == f"{FIRST}{REST}\n"


def test_a_footer_shows_time_and_cost_of_an_answer(home: Home, model_server: ModelServer) -> None:
    usage = {"prompt_tokens": 2_000, "completion_tokens": 20}
    model_server.follow(Script(default=Answer(text="Fine.", usage=usage)))
    home.environ["HERMES_JOBS_MODELS__PRICES"] = "{scripted: {input: 1, output: 1}}"
    home.environ["HERMES_JOBS_MODEL__CONTEXT_LENGTH"] = "40000"
    with Screen(home, "send", "How are you?") as screen:
        assert screen.end() == 0
        *_, footer = (line for line in screen.text.splitlines() if line.startswith("· "))
    (turn,) = home.run("turns", "list", "--json").json
    assert re.fullmatch(rf"· [\d.]+ m?s · \$0\.0020 · 5% of 40k tokens · turn {turn['turn']}", footer)
    for arguments, footer in ((("-q",), "true"), ((), "false")):
        with Screen(home, "send", *arguments, "Hello", HERMES_JOBS_DISPLAY__FOOTER=footer) as screen:
            assert screen.end() == 0
            assert "Fine." in screen.text
            assert "tokens" not in screen.text
    assert home.run("send", "Hello").err == ""
