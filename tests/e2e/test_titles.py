"""A title leads to its conversation, also after that has been compressed."""

from __future__ import annotations

import pytest

from tests.e2e.test_windows import CHECKPOINT, is_summary
from tests.home import Home
from tests.model_script import Answer
from tests.model_server import ModelServer

LONG = "We talked about many things. " * 100


@pytest.mark.slow
def test_a_title_leads_to_its_conversation_after_a_compression(home: Home, model_server: ModelServer) -> None:
    model_server.follow(lambda seen: Answer(text=CHECKPOINT if is_summary(seen) else LONG))
    home.run("config", "set", "compression.protect_last_n", "1")
    home.run("config", "set", "model.context_length", "16000")
    first = home.send(f"one {LONG}")["session"]
    home.run("sessions", "rename", first, "Daily log")
    for number in range(3):
        home.send("-s", "daily log", f"{number} {LONG}")
    done = home.run("sessions", "compress", "Daily log")
    assert done.code == 0, done.err
    (row,) = home.run("sessions", "list", "--json").json
    assert row["title"] == "Daily log #2"
    for name in ("Daily log", "daily log #2", first):
        assert home.send("-s", name, "And now?")["session"] == row["session"]
    other = home.send("Something else")["session"]
    for title in ("Daily log", "Daily log #2", "Daily log #3"):
        assert home.run("sessions", "rename", other, title).code != 0
    assert home.run("sessions", "rename", "Daily log", "Daily log").code == 0
