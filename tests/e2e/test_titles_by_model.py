"""Sessions that a person holds are named by a model: after the answer, booked apart, and not for scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree
from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_script import Answer, Hold, Refuse
from tests.model_server import ModelServer


def said(home: Home, *words: str, **environ: str) -> None:
    """`send` on a terminal, to its end."""
    with Screen(home, "send", *words, columns=80, lines=24, **environ) as screen:
        assert screen.end() == 0


def sessions(home: Home) -> list[Any]:
    listed: list[Any] = home.run("sessions", "list", "--json").json
    return listed


def test_a_session_of_a_terminal_gets_a_title_that_is_booked_apart(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow([Answer(text="It is green."), Answer(text="Black.")])
    model_server.title = Answer(text='Title: "Colours of tea"')
    said(home, "What colour is tea?")
    (session,) = sessions(home)
    assert session["title"] == "Colours of tea"
    (asked,) = model_server.titles
    assert "What colour is tea?" in asked.last_user_text
    assert "It is green." in asked.last_user_text
    said(home, "-c", "And yours?")
    assert len(model_server.titles) == 1, "it has one"
    rows = {row["purpose"]: row for row in home.run("usage", "--by", "purpose", "--json").json}
    assert (rows["title"]["requests"], rows["turn"]["requests"]) == (1, 2)
    assert home.send("-s", "colours of tea", "Go on")["session"] == session["session"]
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        assert_views_agree(log, home.path / "views")


def test_scripts_and_homes_without_titles_pay_for_none(home: Home, model_server: ModelServer) -> None:
    home.send("Hello")
    said(home, "Hello", HERMES_JOBS_AUXILIARY__TITLE__ENABLED="false")
    assert [each["title"] for each in sessions(home)] == [None, None]
    assert model_server.titles == []


def test_titles_stay_unique_and_a_model_of_its_own_gives_them(home: Home, model_server: ModelServer) -> None:
    home.run("config", "set", "auxiliary.model", "small")
    for _ in range(2):
        said(home, "Hello")
    assert [each["title"] for each in sessions(home)] == [
        "A scripted conversation (2)",
        "A scripted conversation",
    ]
    assert {seen.body["model"] for seen in model_server.titles} == {"small"}
    assert {seen.body["model"] for seen in model_server.requests} == {"scripted"}


def test_a_refused_request_for_a_title_changes_nothing_else(home: Home, model_server: ModelServer) -> None:
    model_server.title = Refuse(status=400, message="no")
    said(home, "Hello")
    (session,) = sessions(home)
    assert (session["title"], session["preview"], session["status"]) == (None, "Hello", "idle")
    with home.open_log() as log:
        assert_all_is_done_once(log, [])


def test_the_answer_does_not_wait_for_the_title(home: Home, model_server: ModelServer) -> None:
    model_server.follow([Answer(text="It is green.")])
    model_server.title = Hold(answer=Answer(text="Tea"))
    with Screen(home, "send", "What colour is tea?") as screen:
        screen.shows("It is green.")
        model_server.wait_until(lambda: len(model_server.titles) == 1)
        model_server.release()
        assert screen.end() == 0
    assert sessions(home)[0]["title"] == "Tea"


@pytest.mark.parametrize("limit", ["HERMES_JOBS_BUDGETS__SESSION_USD", "HERMES_JOBS_BUDGETS__DAY_USD"])
def test_it_is_not_asked_for_where_no_budget_is_left(
    home: Home, model_server: ModelServer, limit: str
) -> None:
    home.run("config", "set", "models.prices.scripted", "{input: 0, output: 0}")
    home.run("config", "set", "models.prices.dear", "{input: 1000, output: 1000}")
    home.run("config", "set", "auxiliary.model", "dear")
    said(home, "Hello", **{limit: "0.05"})
    assert model_server.titles == []
    (ended,) = [
        each["data"]
        for each in map(json.loads, home.run("events", "--json").out.splitlines())
        if each["type"] == "HelperCallFailed"
    ]
    assert ended["kind"] == "budget"
