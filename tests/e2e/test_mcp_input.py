"""What servers ask during calls: on the spot, from elsewhere, unattended, too late."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.screen import Screen
from tests.e2e.test_chat import CTRL_D, chatting, say
from tests.e2e.test_mcp import McpHome
from tests.home import Home
from tests.model_server import ModelServer
from tests.tools.support import wait_until

ASKING = Path(__file__).parent.parent / "mcp" / "asking_server.py"
SEAT = ("--field", "seat=12A", "--field", "bags=1")


class AskingHome(McpHome):
    """A home with a server of the newest era that asks, and the test server, which is older and asks, too."""

    def configure(self, *, name: str = "test", **more: Any) -> None:
        old = {"command": sys.executable, "args": ["-I", "-S", str(OLD)], "trusted": True, **more}
        new = {"command": sys.executable, "args": [str(ASKING)], "trusted": True, **more}
        own = {"env": {"MCP_TEST": str(self.folder)}, "writable": [str(self.folder)]}
        tools = {
            each: {"ask": False}
            for each in ("book", "pay", "unlock", "nag", "wait", "count", "order", "visit")
        }
        servers = {
            "old": {**old, **own, "tools": tools},
            "new": {**new, **own, "tools": tools},
        }
        self.home.path.mkdir(exist_ok=True)
        (self.home.path / "config.yaml").write_text(json.dumps({"mcp_servers": servers}))

    def waiting(self) -> str:
        """The turn that waits."""
        with self.home.open_log() as log:
            wait_until(
                lambda: any(isinstance(fact, e.InputRequested) for fact in facts_of(log)), "a question"
            )
        (turn,) = self.home.run("turns", "list", "--status", "waiting", "--json").json
        return str(turn["turn"])

    @property
    def answers(self) -> list[tuple[str, str]]:
        found = [fact for fact in self.facts if isinstance(fact, e.InputAnswered)]
        return [(fact.action, fact.by) for fact in found]


OLD = Path(__file__).parent.parent / "mcp" / "server.py"


@pytest.fixture
def mcp(home: Home, model_server: ModelServer, tmp_path: Path) -> AskingHome:
    made = AskingHome(home, model_server, tmp_path / "server")
    made.configure()
    return made


def test_a_form_is_filled_in_on_the_spot(mcp: AskingHome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}))
    with Screen(mcp.home, "send", "Go.", columns=100) as screen:
        screen.shows("? The server new asks for input (new__book)")
        screen.shows("Which seat on LX1?")
        screen.shows("y answer · n decline · c cancel ›")
        screen.type("y")
        screen.shows("Seat")
        screen.shows("(text, 2 to 3 characters, required) ›")
        screen.type("1\r")
        screen.shows("The field seat has to be at least 2 characters.")
        screen.type("12A\r")
        screen.shows("1 meat")
        screen.type("-\r")
        screen.shows("(whole number, 0 to 2, required) ›")
        screen.type("1\r")
        screen.shows("(yes or no, - takes no) ›")
        screen.type("yes\r")
        screen.shows("Answered.")
        screen.shows("Done.")
        assert screen.end() == 0
    booked = "booked LX1 [('bags', 1), ('insured', True), ('meal', 'none'), ('seat', '12A')]"
    assert mcp.calls == ["asked LX1", booked]
    assert mcp.results[0].startswith("booked LX1")


def test_an_address_is_shown_with_its_host_and_never_opened(mcp: AskingHome) -> None:
    mcp.asks_for(("new__pay", {}))
    with Screen(mcp.home, "send", "Go.", columns=100) as screen:
        screen.shows("? The server new asks you to open an address")
        screen.shows("https://bücher.example/pay?id=7")
        screen.shows("It leads to the host xn--bcher-kva.example.")
        screen.shows("c cancel ›")
        screen.type("n")
        screen.shows("Declined; the server is informed.")
        assert screen.end() == 0
    assert mcp.calls == ["pay decline"]


@pytest.mark.slow
def test_it_is_answered_from_elsewhere_while_nothing_works(mcp: AskingHome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}))
    home = mcp.home
    sent = home.send("--no-wait", "Go.")
    with home.start("turns", "follow", sent["turn"]) as following:
        turn = mcp.waiting()
        following.signal(signal.SIGKILL)
        following.process.wait()
    shown = home.run("turns", "show", turn)
    assert "waiting" in shown.out
    assert "Which seat on LX1?" in shown.err
    assert "seat (text, 2 to 3 characters, required): Seat" in shown.err
    assert f"hermes-jobs turns answer {turn} --field seat=… --field bags=…" in shown.err
    inbox = home.run("inbox", "list")
    assert f"{turn} waits for you: new asks, for new__book" in inbox.err
    assert "Which seat on LX1?" in inbox.err
    (step,) = [each for each in home.run("turns", "show", turn, "--json").json["steps"] if "asks" in each]
    assert step["asks"]["requests"][0]["fields"][0]["name"] == "seat"
    wrong = home.run("turns", "answer", turn, "--field", "seat=1", "--field", "bags=1")
    assert wrong.code != 0
    assert "The field seat has to be at least 2 characters" in wrong.err
    nothing = home.run("turns", "answer", turn)
    assert nothing.code == 2
    assert "give the answer with flags" in nothing.err
    approved = home.run("turns", "approve", turn)
    assert f"hermes-jobs turns answer {turn}" in approved.err
    answered = home.run("turns", "answer", turn, *SEAT, "--wait")
    assert (answered.code, answered.out) == (0, "Done.\n")
    booked = "booked LX1 [('bags', 1), ('insured', False), ('meal', 'none'), ('seat', '12A')]"
    assert mcp.calls == ["asked LX1", booked]
    again = home.run("turns", "answer", turn, *SEAT)
    assert again.code != 0


def test_an_unattended_turn_declines(mcp: AskingHome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}), ("old__ask", {"text": "Which?"}))
    mcp.home.run("send", "--unattended", "Go.")
    assert mcp.calls[:2] == ["asked LX1", "decline LX1"]
    assert json.loads(mcp.results[1]) == {"action": "decline"}
    assert set(mcp.answers) == {("decline", "unattended")}


def test_a_question_without_an_answer_in_time_is_cancelled(mcp: AskingHome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}), ("old__ask", {"text": "Which?"}))
    mcp.home.run("send", "Go.", HERMES_JOBS_TERMINAL__APPROVAL_SECONDS="0.3")
    assert mcp.calls[:2] == ["asked LX1", "cancel LX1"]
    assert json.loads(mcp.results[1]) == {"action": "cancel"}
    assert mcp.answers == [("cancel", "timeout"), ("cancel", "timeout")]


def test_a_form_that_asks_for_a_secret_is_declined_and_the_rest_is_asked(mcp: AskingHome) -> None:
    mcp.asks_for(("new__unlock", {}))
    with mcp.home.start("send", "Go.") as sending:
        turn = mcp.waiting()
        content = json.dumps({"colour": "password: hunter2hunter2"})
        refused = mcp.home.run("turns", "answer", turn, "--content", content)
        assert "looks like a key or password" in refused.err
        assert mcp.home.run("turns", "answer", turn, "--content", '{"colour": "red"}').code == 0
        sending.process.wait()
    assert mcp.calls == ["colour=accept key=decline"]
    assert mcp.answers == [("decline", "policy"), ("accept", "user")]
    assert mcp.home.files_holding("hunter2hunter2") == []


def test_a_server_that_asks_for_ever_is_stopped(mcp: AskingHome) -> None:
    mcp.asks_for(("new__nag", {}))
    mcp.home.run("send", "--unattended", "Go.")
    assert "asks for input more than 10 times" in mcp.results[0]


def test_a_server_that_wants_only_its_state_gets_it_back(mcp: AskingHome) -> None:
    mcp.asks_for(("new__wait", {}))
    mcp.home.send("Go.")
    assert mcp.calls == ["wait 0", "wait 1", "wait 2", "wait 3"]
    assert mcp.results[0].startswith("waited")


def test_a_question_of_an_older_server_stops_the_calls_timeout(mcp: AskingHome) -> None:
    mcp.configure(timeout=2)
    mcp.asks_for(("old__ask", {"text": "Which colour?"}))
    with Screen(mcp.home, "send", "Go.", columns=100) as screen:
        screen.shows("c cancel ›")
        screen.type("y")
        screen.shows("(text, required) ›")
        screen.type("red\r")
        screen.shows("Done.")
        assert screen.end() == 0
    assert json.loads(mcp.results[0]) == {"action": "accept", "content": {"colour": "red"}}
    assert mcp.calls == ['ask {"text": "Which colour?"}']


def test_an_older_server_s_question_is_answered_from_elsewhere(mcp: AskingHome) -> None:
    mcp.asks_for(("old__ask", {"text": "Which colour?"}))
    with mcp.home.start("send", "Go.") as sending:
        turn = mcp.waiting()
        assert mcp.home.run("turns", "answer", turn, "--field", "colour=red").code == 0
        sending.process.wait()
    assert json.loads(mcp.results[0]) == {"action": "accept", "content": {"colour": "red"}}


def test_a_question_of_a_killed_worker_in_mid_call_leaves_an_unknown_outcome(mcp: AskingHome) -> None:
    mcp.asks_for(("old__order", {"text": "Which colour?"}))
    with mcp.home.start("send", "Go.") as sending:
        turn = mcp.waiting()
        sending.signal(signal.SIGKILL)
        sending.process.wait()
    waited = mcp.home.run("turns", "wait", turn)
    assert waited.code == 0, waited.err
    assert "outcome is unknown" in mcp.results[0]
    assert mcp.calls == ['order {"text": "Which colour?"}']


def test_an_older_server_that_needs_an_address_to_be_opened_is_called_again(mcp: AskingHome) -> None:
    mcp.asks_for(("old__visit", {}), ("old__visit", {}))
    with mcp.home.start("send", "Go.") as sending:
        turn = mcp.waiting()
        filled_in = mcp.home.run("turns", "answer", turn, "--field", "done=yes")
        assert filled_in.code == 2
        assert f"answer it:  hermes-jobs turns answer {turn} --accept" in filled_in.err
        assert mcp.answers == []
        (mcp.folder / "visited").touch()
        assert mcp.home.run("turns", "answer", turn, "--accept").code == 0
        sending.process.wait()
    assert mcp.results[0] == "welcome"


def test_declining_an_address_ends_the_call_of_an_older_server(mcp: AskingHome) -> None:
    mcp.asks_for(("old__visit", {}))
    mcp.home.run("send", "--unattended", "Go.")
    assert "did not agree to visit the address" in mcp.results[0]
    assert mcp.calls == ["visit {}"]


def test_a_question_ends_with_its_turn(mcp: AskingHome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}))
    with mcp.home.start("send", "Go.") as sending:
        turn = mcp.waiting()
        mcp.home.run("turns", "cancel", turn)
        assert sending.process.wait() != 0
    assert mcp.home.run("turns", "answer", turn, "--decline").code != 0
    assert mcp.calls == ["asked LX1"]


def test_the_progress_of_a_call_is_shown_while_it_lasts_and_is_no_event(mcp: AskingHome) -> None:
    mcp.asks_for(("new__count", {}))
    with Screen(mcp.home, "send", "Go.", columns=100) as screen:
        screen.shows("3 of 7: reading")
        (mcp.folder / "go").touch()
        screen.shows("Done.")
        assert screen.end() == 0
    assert mcp.home.files_holding("3 of 7") == []


def test_a_chat_fills_in_a_form(mcp: AskingHome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}))
    with chatting(mcp.home) as screen:
        say(screen, "Go.")
        screen.shows("Which seat on LX1?")
        screen.shows("It waits for you:")
        for typed, shown in (
            ("y", "2 to 3 characters"),
            ("1", "has to be at least 2 characters"),
            ("12A", "1 meat"),
            ("meat", "0 to 2"),
            ("1", "yes or no"),
            ("-", "Answered."),
        ):
            say(screen, typed)
            screen.shows(shown)
        screen.shows("Done.")
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert mcp.calls[1].startswith("booked LX1 [('bags', 1), ('insured', False), ('meal', 'meat'), ('seat',")
