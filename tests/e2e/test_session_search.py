"""A turn that searches earlier conversations: the summaries are part of its books, and searches find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel.events import UsageRecorded
from tests.home import Home, endpoint
from tests.model_script import Action, Answer, AskedCall, Refuse, Rule, Script, Seen, chooser
from tests.model_server import ModelServer

ASKED = AskedCall("session_search", {"query": "nginx proxy"})
SCRIPT = Script(
    rules=(
        Rule("Looked for:", (Answer(text="They set up nginx."),)),
        Rule("set up", (Answer(text="nginx is a proxy for src/app/main.py now."),)),
        Rule("remember", (Answer(tool_calls=(ASKED,)), Answer(text="Yes: nginx."))),
    )
)


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    model_server.follow(SCRIPT)
    return Home(tmp_path, endpoint(model_server.base_url))


def test_the_cost_of_a_search_is_booked_to_its_turn_and_purpose(
    home: Home, model_server: ModelServer
) -> None:
    earlier = home.send("set up a proxy with nginx")
    turn = home.send("do you remember the proxy?")
    (result,) = [m["content"] for m in model_server.requests[-1].messages if m["role"] == "tool"]
    assert "They set up nginx." in result
    assert earlier["session"] in result
    assert turn["num_model_calls"] == 3
    summary = next(seen for seen in model_server.requests if "Looked for:" in seen.last_user_text)
    assert summary.body["temperature"] == 0.1
    rows = {row["purpose"]: row for row in home.run("usage", "--by", "purpose", "--json").json}
    assert rows["session_search"]["requests"] == 1
    assert rows["session_search"]["prompt_tokens"] > 0
    assert rows["turn"]["requests"] == 3
    with home.open_log() as log:
        events = [recorded.event for recorded in log.tail(0, 1_000)]
    books = [event for event in events if isinstance(event, UsageRecorded)]
    assert [each.num_model_calls for each in books] == [1, 3]
    assert turn["usage"]["input_tokens"] == books[1].input_tokens > rows["session_search"]["input_tokens"]
    found = home.run("sessions", "search", "nginx", "proxy", "--role", "assistant", "--json").json
    assert earlier["turn"] in {hit["turn"] for hit in found}


def test_a_summariser_that_fails_costs_the_turn_nothing_but_the_summary(
    home: Home, model_server: ModelServer
) -> None:
    scripted = chooser(SCRIPT)

    def fails(seen: Seen) -> Action:
        return Refuse(status=500) if "Looked for:" in seen.last_user_text else scripted(seen)

    model_server.follow(fails)
    home.send("set up a proxy with nginx")
    turn = home.send("do you remember the proxy?")
    (result,) = [m["content"] for m in model_server.requests[-1].messages if m["role"] == "tool"]
    assert "Not summarised" in result
    assert "user: set up a proxy with nginx" in result
    assert turn["result"] == "Yes: nginx."


def test_the_rehearsal_quotes_its_hits(tmp_path: Path) -> None:
    home = Home(tmp_path, {})
    home.send("set up a proxy with nginx")
    hits = home.run("sessions", "search", "nginx", "--json").json
    assert {hit["role"] for hit in hits} == {"user", "assistant"}
