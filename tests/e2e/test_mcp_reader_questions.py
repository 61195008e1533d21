"""What servers ask while a resource or a prompt is read: answered at the terminal, or nothing is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.screen import Screen
from tests.e2e.test_chat import chatting, happened, say, texts
from tests.e2e.test_mcp_input import AskingHome
from tests.home import Home
from tests.model_server import ModelServer

CTRL_C = "\x03"
LEGEND = "c cancel ›"


@pytest.fixture
def mcp(home: Home, model_server: ModelServer, tmp_path: Path) -> AskingHome:
    made = AskingHome(home, model_server, tmp_path / "server")
    made.configure()
    return made


def fill_in_the_seat(screen: Screen) -> None:
    """Answer the form of the asking server with 12A and one bag."""
    screen.shows("Which seat?")
    screen.shows("y answer · n decline · c cancel ›")
    screen.type("y")
    screen.shows("(text, 2 to 3 characters, required) ›")
    screen.type("12A\r")
    screen.shows("1 meat")
    screen.type("-\r")
    screen.shows("(whole number, 0 to 2, required) ›")
    screen.type("1\r")
    screen.shows("(yes or no, - takes no) ›")
    screen.type("-\r")


def test_a_read_continues_with_the_answers_and_the_state(mcp: AskingHome) -> None:
    with Screen(mcp.home, "mcp", "read", "new", "menu://monday", columns=100) as screen:
        screen.shows("? The server new asks for input (menu://monday)")
        fill_in_the_seat(screen)
        screen.shows("Are you sure?")
        screen.shows(f"y accept · n decline · {LEGEND}")
        screen.type("y")
        screen.shows("monday 2 12A ['accept']")
        assert screen.end() == 0
    assert mcp.calls == ["monday accept", "monday 2 12A ['accept']"]


def test_the_server_gets_a_declined_answer(mcp: AskingHome) -> None:
    with Screen(mcp.home, "mcp", "read", "new", "menu://monday", columns=100) as screen:
        screen.shows("y answer · n decline · c cancel ›")
        screen.type("n")
        screen.shows("Declined; the server is informed.")
        screen.shows("nothing")
        assert screen.end() == 0
    assert mcp.calls == ["monday decline"]


def test_an_address_is_shown_and_never_opened(mcp: AskingHome) -> None:
    with Screen(mcp.home, "mcp", "read", "new", "menu://sunday", columns=100) as screen:
        screen.shows("? The server new asks you to open an address")
        screen.shows("It leads to the host xn--bcher-kva.example.")
        screen.shows(LEGEND)
        screen.type("y")
        screen.shows("sunday None ['accept']")
        assert screen.end() == 0


def test_an_older_server_waits_with_the_read_open(mcp: AskingHome) -> None:
    with Screen(mcp.home, "mcp", "read", "old", "note://asked", columns=100) as screen:
        screen.shows("? The server old asks for input (note://asked)")
        screen.shows("Which tea?")
        screen.shows(LEGEND)
        screen.type("y")
        screen.shows("(text, required) ›")
        screen.type("green\r")
        screen.shows('{"action": "accept", "content": {"colour": "green"}}')
        assert screen.end() == 0


def test_an_older_server_that_needs_an_address_is_asked_again_after_it(mcp: AskingHome) -> None:
    with Screen(mcp.home, "mcp", "read", "old", "note://paid", columns=100) as screen:
        screen.shows("It leads to the host id.example.")
        screen.shows(LEGEND)
        (mcp.folder / "visited").touch()
        screen.type("y")
        screen.shows("Answered.")
        screen.shows("paid")
        assert screen.end() == 0
    assert mcp.calls.count('read "note://paid"') == 2


def test_an_interrupted_question_reads_nothing(mcp: AskingHome) -> None:
    for uri in ("new menu://monday", "old note://asked"):
        with Screen(mcp.home, "mcp", "read", *uri.split(), columns=100) as screen:
            screen.shows(LEGEND)
            screen.type(CTRL_C)
            assert screen.end() == 130
    assert [each for each in mcp.calls if "asked" not in each] == []


@pytest.mark.parametrize(
    "read", [("new", "menu://monday"), ("new", "menu://sunday"), ("old", "note://asked")]
)
def test_nothing_is_read_unattended(mcp: AskingHome, read: tuple[str, str]) -> None:
    refused = mcp.home.run("mcp", "read", *read)
    assert (refused.code, refused.out) == (1, "")
    assert f"{read[0]}: the server asks for input first, and nobody can be asked here." in refused.err
    sent = mcp.home.run("send", f"Look at @{read[0]}:{read[1]}")
    assert (sent.code, sent.out) == (2, "")
    assert "nobody can be asked here" in sent.err
    assert mcp.model.requests == []


def test_send_asks_before_anything_is_sent_unless_unattended(mcp: AskingHome) -> None:
    with Screen(mcp.home, "send", "Eat @new:menu://monday", columns=100) as screen:
        fill_in_the_seat(screen)
        screen.shows(f"y accept · n decline · {LEGEND}")
        assert mcp.model.requests == []
        screen.type("y")
        screen.shows("· with new:menu://monday (1 line)")
        assert screen.end() == 0
    assert "monday 2 12A ['accept']" in texts(mcp.home)[0]
    with Screen(mcp.home, "send", "--unattended", "Eat @new:menu://monday", columns=100) as screen:
        screen.shows("nobody can be asked here")
        assert screen.end() == 2


def test_chat_asks_for_resources_and_for_prompts(mcp: AskingHome) -> None:
    assert mcp.home.run("mcp", "test", "new").code == 0
    with chatting(mcp.home) as screen:
        say(screen, "Eat @new:menu://sunday")
        screen.shows("? The server new asks you to open an address (menu://sunday)")
        screen.shows(LEGEND)
        screen.type("y")
        screen.shows("· with new:menu://sunday (1 line)")
        happened(mcp.home, e.TurnCompleted, 1)
        say(screen, "/new:plan Rome")
        screen.shows("? The server new asks for input (prompt plan)")
        screen.shows(f"y answer · n decline · {LEGEND}")
        screen.type("y")
        screen.shows("(text, required) ›")
        screen.type("soup\r")
        happened(mcp.home, e.TurnCompleted, 2)
        say(screen, "exit")
        assert screen.end() == 0
    first, second = texts(mcp.home)
    assert "sunday None ['accept']" in first
    assert "A day in Rome with soup." in second


@pytest.mark.slow
def test_a_chat_continues_after_an_interrupted_question(mcp: AskingHome) -> None:
    with chatting(mcp.home) as screen:
        say(screen, "Eat @old:note://asked")
        screen.shows("? The server old asks for input (note://asked)")
        screen.shows(LEGEND)
        screen.type(CTRL_C)
        screen.shows("Nothing was answered.")
        say(screen, "Hello.")
        happened(mcp.home, e.TurnCompleted, 1)
        say(screen, "exit")
        assert screen.end() == 0
    assert texts(mcp.home) == ["Hello."]
