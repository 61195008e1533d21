"""What had been said of an answer that was cancelled stays in the conversation, marked as unfinished."""

from __future__ import annotations

from signal import SIGINT, SIGKILL
from typing import Any

import pytest

from hermes_jobs.kernel.turns.synthetic_messages import UNFINISHED
from tests.home import Home
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

HELD = Script(rules=(Rule("a story", (Hold(first="Once upon a xylophone", answer=Answer(text="end")),)),))


def conversation(server: ModelServer) -> list[tuple[str, Any]]:
    """The last request, without the system prompt."""
    return [(each["role"], each["content"]) for each in server.requests[-1].body["messages"][1:]]


def alternates(said: list[tuple[str, Any]]) -> bool:
    return [role for role, _ in said] == ["user", "assistant", "user"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_text_streamed_before_a_stop_is_kept(home: Home, model_server: ModelServer, how: str) -> None:
    model_server.follow(HELD)
    with home.start("send", "--stream", "Tell me a story") as running:
        wait_until(lambda: "xylophone" in running.out, "the beginning of the answer")
        (turn,) = home.run("turns", "list", "--json").json
        if how == "cancel":
            assert home.run("turns", "cancel", turn["turn"]).code == 0
        else:
            home.run("send", "--no-wait", "-s", turn["session"], "--if-busy", "interrupt", "Shorter!")
        assert running.end().code == 1
    if how == "cancel":
        home.send("-s", turn["session"], "Shorter!")
    else:
        model_server.wait_until(lambda: len(model_server.requests) == 2)
        (last, *_) = home.run("turns", "list", "--json").json
        assert home.run("turns", "wait", last["turn"]).code == 0

    said = conversation(model_server)
    assert alternates(said)
    assert said[1] == ("assistant", f"Once upon a xylophone\n\n{UNFINISHED}")
    assert UNFINISHED in home.run("sessions", "show", turn["session"]).out
    (found,) = home.run("sessions", "search", "xylophone", "--json").json
    assert (found["turn"], found["role"]) == (turn["turn"], "assistant")
    exported = home.run("sessions", "export", turn["session"])
    assert "xylophone" in exported.out
    assert home.run("views", "rebuild").code == 0
    assert UNFINISHED in home.run("sessions", "show", turn["session"]).out


@pytest.mark.slow
def test_text_streamed_before_a_second_ctrl_c_is_kept(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with home.start("send", "--stream", "Tell me a story") as running:
        wait_until(lambda: "xylophone" in running.out, "the beginning of the answer")
        running.signal(SIGINT)
        running.wait_for("or Ctrl-C again")
        running.signal(SIGINT)
        ran = running.end()
    assert ran.code == 130
    assert "Cancelled." in ran.err
    (turn,) = home.run("turns", "list", "--json").json
    assert turn["status"] == "cancelled"
    home.send("-s", turn["session"], "Shorter!")
    said = conversation(model_server)
    assert alternates(said)
    assert said[1] == ("assistant", f"Once upon a xylophone\n\n{UNFINISHED}")


@pytest.mark.slow
def test_a_killed_send_leaves_its_turn_to_the_next_process(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with home.start("send", "--stream", "Tell me a story") as running:
        wait_until(lambda: "xylophone" in running.out, "the beginning of the answer")
        running.signal(SIGINT)
        running.wait_for("or Ctrl-C again")
        running.signal(SIGKILL)
        running.end()
    model_server.release()
    (turn,) = home.run("turns", "list", "--json").json
    assert home.run("turns", "follow", turn["turn"]).code == 0
    (shown,) = home.run("turns", "list", "--json").json
    assert (shown["status"], shown["result"]) == ("completed", "Once upon a xylophoneend")
