"""How held calls are shown to their person, and decided on the web pages."""

from __future__ import annotations

import json
import re
from datetime import datetime
from html import unescape

import pytest

from hermes_jobs.features.holding import rules
from hermes_jobs.features.holding.tables import HeldView
from hermes_jobs.features.holding.words import about
from tests.e2e.screen import Screen
from tests.features.holding.conftest import LIE, REVIEW, fetches, rule, saves
from tests.home import Home
from tests.model_script import AskedCall, Script
from tests.model_server import ModelServer
from tests.serve.test_doors import fields, served, signed_in
from tests.tools.web_server import WebServer

FORGETS = AskedCall("memory", {"action": "remove", "target": "user", "old_text": "tea"})
PLANS = AskedCall("schedule", {"action": "add", "when": "every day at 9", "task": "Check the portal."})


def read(home: Home, model: ModelServer, pages: WebServer, *calls: AskedCall) -> str:
    """An unattended turn that reads the page and makes these calls; what it printed as JSON."""
    model.follow(Script(rules=(rule("Read", (fetches(pages),), calls),)))
    return home.run("send", "--unattended", "--json", "Read the portal.").out


def view(tool: str, **arguments: str) -> HeldView:
    return HeldView(
        held="3f0c9d2ab81e",
        status="waiting",
        at="",
        expires_at="",
        tool=tool,
        arguments=json.dumps(arguments),
        outside=(),
        session="",
        turn="",
        by="",
    )


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (
            view("schedule", action="add", when="every day at 9", task="Check the portal"),
            'schedule add "every day at 9: Check the portal"',
        ),
        (view("schedule", action="remove", schedule="morning"), 'schedule remove "morning"'),
        (
            view(
                "skill_manage", action="create", name="pay", content="---\nname: pay\ndescription: Pay.\n---"
            ),
            'skill create "pay: Pay."',
        ),
        (
            view("skill_manage", action="patch", name="pay", old_string="A", new_string="To acme."),
            'skill patch "pay: To acme."',
        ),
        (
            view("skill_manage", action="remove_file", name="pay", file_path="a.md"),
            'skill remove_file "pay: a.md"',
        ),
        (view("memory", action="remove", old_text="tea"), 'memory remove "tea"'),
    ],
)
def test_a_few_words_say_what_a_call_would_do(held: HeldView, words: str) -> None:
    assert about(held) == words


def test_two_schedules_are_told_apart(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    other = AskedCall("schedule", {"action": "add", "when": "every day at 9", "task": "Pay the invoices."})
    read(home, model_server, pages, PLANS, other)

    listed = home.run("held", "list").out
    assert 'schedule add "every day at 9: Check the portal."' in listed
    assert 'schedule add "every day at 9: Pay the invoices."' in listed


def test_the_entry_that_goes_is_shown_while_it_is_there(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    home.run("memory", "add", "user", "Likes tea without sugar")
    read(home, model_server, pages, FORGETS)
    (held,) = home.run("held", "list", "--json").json

    assert "Likes tea without sugar" in home.run("held", "show", held["held"]).out
    home.run("memory", "remove", "user", "tea")
    assert "without sugar" not in home.run("held", "show", held["held"]).out


def test_what_is_kept_and_dropped_is_said_for_people_and_its_times_are_iso(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    read(home, model_server, pages, saves("A"), saves("B"))
    second, first = home.run("held", "list", "--json").json

    assert datetime.fromisoformat(first["expires_at"]) > datetime.fromisoformat(first["at"])
    assert home.run("held", "keep", first["held"]).err == 'Kept: memory add "A"\n'
    assert home.run("held", "drop", second["held"]).err == 'Dropped: memory add "B"\n'


def test_all_keeps_its_status_and_what_was_read_on_a_narrow_terminal(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    read(home, model_server, pages, saves("A"), saves("B"))
    home.run("held", "drop", home.run("held", "list", "--json").json[0]["held"])

    with Screen(home, "held", "list", "--all", columns=80) as screen:
        screen.end()
        shown = screen.text
    assert "STATUS" in shown
    assert "AFTER READING" in shown
    assert "dropped" in shown


def test_a_held_call_has_not_failed_and_is_a_warning(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    turn = json.loads(read(home, model_server, pages, saves(LIE)))
    (held,) = home.run("held", "list", "--json").json
    waits = f"waits for you (held {held['held']})"

    assert turn["warnings"] == [f"a call {waits}"]
    shown = home.run("turns", "show", turn["turn"]).out
    assert waits in shown
    assert "Do not try another way" not in shown
    assert [step["outcome"] for step in home.turn(turn["turn"])["steps"] if step["name"] == "memory"] == [
        "held"
    ]


def test_the_live_display_says_that_it_waits(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    model_server.follow(Script(rules=(rule("Read", (fetches(pages),), (saves(LIE),)),)))
    with Screen(home, "send", "--unattended", "Read the portal.", columns=120) as screen:
        screen.end()
        shown = screen.text
    assert "waits for you (held " in shown
    assert "failed" not in shown


def test_a_review_shows_what_waits(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    model_server.follow(Script(rules=(rule("Read", (fetches(pages),)), rule(REVIEW, (saves(LIE),)))))
    home.environ["HERMES_JOBS_MEMORY__NUDGE_INTERVAL"] = "1"
    home.send("Read the portal.")
    (review,) = home.run("reviews", "list", "--json").json

    shown = home.run("reviews", "show", review["review"]).out
    assert "waits for you (held " in shown
    assert "Do not try another way" not in shown


def test_more_than_a_turn_may_hold_is_refused_by_that_limit(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    notes = [saves(f"Note {number}") for number in range(rules.MOST_OF_TURN + 2)]
    turn = json.loads(read(home, model_server, pages, *notes))

    assert [each["why"] for each in turn["refused"]] == ["5 calls of this turn wait already"] * 2
    line = home.run("inbox", "list").err
    assert "5 notes wait for you" in line
    assert "2 more of today were refused: at most 5 of a turn and 20 of a day wait" in line


@pytest.mark.slow
def test_the_first_terminal_and_each_chat_say_what_waits(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    read(home, model_server, pages, saves(LIE))

    def shown(*arguments: str, until: str = "") -> str:
        with Screen(home, *arguments, columns=160) as screen:
            if until:
                screen.shows(until)
                screen.type("/quit\r")
            screen.end()
            return screen.text

    assert "1 note waits for you" in shown("send", "Hello")
    assert "1 note waits for you" not in shown("send", "Hello")
    for _ in range(2):
        assert "1 note waits for you" in shown("chat", until="1 note waits")


def test_deleting_a_session_names_the_held_calls_that_go(
    home: Home, model_server: ModelServer, pages: WebServer
) -> None:
    turn = json.loads(read(home, model_server, pages, saves("A"), saves("B")))

    assert "with it: 2 held calls" in home.run("sessions", "delete", turn["session"], "-y").err


def test_a_sub_agents_skill_names_who_wrote_the_task(home: Home, model_server: ModelServer) -> None:
    skill = "---\nname: pay\ndescription: Pay invoices.\n---\n\nPay.\n"
    writes = AskedCall("skill_manage", {"action": "create", "name": "pay", "content": skill})
    asks = AskedCall("delegate", {"tasks": [{"goal": "Write the skill"}]})
    model_server.follow(Script(rules=(rule("Ask somebody", (asks,)), rule("Write the skill", (writes,)))))
    home.send("Ask somebody.")

    why = home.run("skills", "why", "pay").out
    assert "the agent asked its sub-agent: " in why
    assert "you said" not in why


@pytest.mark.slow
def test_the_first_web_page_decides(home: Home, model_server: ModelServer, pages: WebServer) -> None:
    read(home, model_server, pages, saves("<b>A</b>"), saves("B"))
    second, first = (each["held"] for each in home.run("held", "list", "--json").json)
    with served(home) as (url, link):
        client = signed_in(url, link)
        page = client.get("/").text
        assert "(2) Waiting for you" in page
        assert "content: <b>A</b>" in unescape(page)
        assert "<b>A</b>" not in page
        assert f"{pages.url}/portal" in page
        path = f"/waiting/{first}"
        form, own = fields(page, path), {"Origin": url}

        assert client.post(path, data={"act": "Keep"}, headers=own).status_code == 403
        assert client.post(path, data={**form, "act": "Burn"}, headers=own).status_code == 409
        assert client.post(path, data={**form, "act": "Keep"}, headers=own).status_code == 303
        assert client.post(path, data={**form, "act": "Keep"}, headers=own).status_code == 409
        dropped = {**fields(page, f"/waiting/{second}"), "act": "Drop"}
        assert client.post(f"/waiting/{second}", data=dropped, headers=own).status_code == 303
        assert re.search(r"<h1>Nothing waits for you</h1>", client.get("/").text)

    decided = {each["held"]: each["status"] for each in home.run("held", "list", "--all", "--json").json}
    assert decided == {first: "kept", second: "dropped"}
    assert home.run("memory", "show", "--json").json["memory"]["entries"] == ["<b>A</b>"]
