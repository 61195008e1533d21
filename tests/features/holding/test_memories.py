"""What a turn wants to remember after it has read a page waits for its person, or asks one who watches."""

from __future__ import annotations

import json

import pytest

from tests.features.holding.conftest import LIE, fetches, prompt, rule, saves, told
from tests.home import Home
from tests.model_script import Script
from tests.model_server import ModelServer
from tests.tools.web_server import WebServer


def script(pages: WebServer) -> Script:
    return Script(
        rules=(
            rule("Read the portal", (fetches(pages),), (saves(LIE),)),
            rule("Only remember", (saves(LIE),)),
        )
    )


def test_it_is_in_no_prompt_until_it_is_kept(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    model_server.follow(script(pages))

    assert home.run("send", "--unattended", "Read the portal.").code == 0
    (held,) = home.run("held", "list", "--json").json
    home.send("Hello")

    assert "waits for the user" in told_first(model_server)
    assert (held["tool"], held["status"]) == ("memory", "waiting")
    assert held["outside"] == [f"{pages.url}/portal"]
    assert json.loads(held["arguments"])["content"] == LIE
    assert LIE not in prompt(model_server)
    assert LIE in home.run("held", "show", held["held"][:6]).out
    assert "1 note waits for you" in home.run("inbox", "list").err

    assert home.run("held", "keep", held["held"]).code == 0
    home.send("Hello")

    assert LIE in prompt(model_server)
    assert home.run("held", "list", "--json").json == []
    why = home.run("memory", "why", "bounce less")
    assert held["turn"] in why.out
    assert "kept by user" in why.out


def told_first(model_server: ModelServer) -> str:
    """All that the model was told of calls."""
    return "\n".join(
        str(each["content"])
        for request in model_server.requests
        for each in request.messages
        if each["role"] == "tool"
    )


def test_what_is_dropped_is_not_held_again(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    model_server.follow(script(pages))
    home.run("send", "--unattended", "Read the portal.")
    (held,) = home.run("held", "list", "--json").json

    dropped = home.run("held", "drop", held["held"], "--json").json
    home.run("send", "--unattended", "Read the portal.")

    assert dropped["status"] == "dropped"
    assert "decided not to keep" in told(model_server)[-1]
    assert home.run("held", "list", "--json").json == []
    assert home.run("memory", "show", "--json").json["memory"]["entries"] == []
    assert home.run("held", "keep", held["held"]).code == 1


def test_the_same_waits_once(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    model_server.follow(script(pages))
    for _ in range(2):
        home.run("send", "--unattended", "Read the portal.")

    assert len(home.run("held", "list", "--json").json) == 1
    assert "already" in told(model_server)[-1]


def test_nothing_waits_where_nothing_was_read_or_the_person_said_it_or_wants_none_of_it(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    model_server.follow(script(pages))
    for arguments, environ in (
        (("--unattended", "Only remember."), {}),
        ((f"Read the portal. {LIE}",), {}),
        (("Read the portal.",), {"HERMES_JOBS_LEARNING__HOLD": "false"}),
        (("--unattended", "Read the portal."), {"HERMES_JOBS_LEARNING__HOLD": "false"}),
    ):
        assert home.run("send", *arguments, **environ).code == 0
        assert home.run("held", "list", "--json").json == []
        assert home.run("memory", "show", "--json").json["memory"]["entries"] == [LIE]
        home.run("memory", "remove", "bounce less")


@pytest.mark.parametrize(("verb", "remembered"), [("approve", [LIE]), ("deny", [])])
@pytest.mark.parametrize("mode", ["ask", "full"])
def test_a_person_who_watches_is_asked_each_time_and_in_every_mode(
    home: Home, model_server: ModelServer, pages: WebServer, mode: str, verb: str, remembered: list[str]
) -> None:
    model_server.follow(script(pages))
    home.run("approvals", "add", "allow", "memory:*", "--anywhere")

    with home.start("send", "--mode", mode, "Read the portal.") as sent:
        sent.wait_for("turns approve ")
        turn = sent.err.partition("turns approve ")[2].split()[0]
        assert f"changing what later turns know or do, after reading {pages.url}/portal" in one_line(sent.err)
        assert LIE in one_line(sent.err)
        assert f"--session {turn}" not in sent.err
        home.run("turns", verb, turn, "--no-wait")
        assert sent.end().code == 0

    assert home.run("memory", "show", "--json").json["memory"]["entries"] == remembered
    assert home.run("held", "list", "--json").json == []


def one_line(text: str) -> str:
    return " ".join(text.split())
