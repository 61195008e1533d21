"""Budgets on the command line: what is refused, what a turn over its budget says, and how it continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_script import Answer, Script
from tests.model_server import ModelServer

USED = {"prompt_tokens": 900, "completion_tokens": 100}


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    empty = Answer(text="", usage=USED)  # asked for again: a second call
    model_server.follow(Script(sequence=(empty,), default=Answer(text="Yes.", usage=USED)))
    return Home(tmp_path, endpoint(model_server.base_url))


def test_a_limit_in_money_is_refused_where_the_price_is_not_known_before_anything_is_recorded(
    home: Home, model_server: ModelServer
) -> None:
    home.run("config", "set", "budgets.day_usd", "5")
    ran = home.run("send", "Hello")
    assert ran.code == 2
    assert "budgets.day_usd is set" in ran.err
    assert "budgets.turn_tokens" in ran.err
    assert home.run("events", "--json").out == ""
    assert model_server.requests == []
    doctor = home.run("doctor", "--json")
    assert '"budgets","status":"fail"' in doctor.out


def test_a_limit_in_tokens_applies_too_and_the_turn_continues_when_it_is_raised(home: Home) -> None:
    home.run("config", "set", "budgets.day_usd", "5")
    home.run("config", "set", "budgets.turn_tokens", "2900")
    room = {"HERMES_JOBS_TOOLSETS__ENABLED": "[]"}  # so that the request itself is small
    ran = home.run("send", "--json", "Hello " * 1300, **room)
    assert ran.code == 1
    turn = ran.json
    assert turn["error"]["kind"] == "budget"
    assert "budgets.turn_tokens allows 2,900 tokens; 1,000 spent so far" in turn["error"]["message"]
    assert "turns continue" in turn["error"]["hint"]
    assert turn["stopped_by"] == "budget"
    assert turn["usage"]["total_tokens"] == 1000
    home.run("config", "set", "budgets.turn_tokens", "100000")
    retried = home.run("turns", "continue", turn["turn"], "--json", **room)
    assert retried.code == 0
    assert (retried.json["turn"], retried.json["result"]) == (turn["turn"], "Yes.")
    assert home.turn(turn["turn"])["usage"]["total_tokens"] == 2000
    assert home.run("events", "verify").code == 0


def test_a_retried_turn_may_get_its_own_budget(home: Home) -> None:
    room = {"HERMES_JOBS_BUDGETS__TURN_TOKENS": "1000"}
    turn = home.run("send", "--json", "Hello", **room).json
    assert turn["error"]["kind"] == "budget"
    ran = home.run("turns", "retry", turn["turn"], "--budget", "0.5", "--json")
    # The price is not known and nothing else limits it: money alone cannot.
    assert ran.json["error"]["kind"] == "budget"
    assert "the turn's own budget ($0.5) cannot be held" in ran.json["error"]["message"]
    assert home.run("turns", "retry", turn["turn"], "--budget", "-1").code == 2


def test_a_limit_that_is_nearly_used_up_is_said_once(home: Home, model_server: ModelServer) -> None:
    prices = {"HERMES_JOBS_MODELS__PRICES": "{scripted: {input: 1000, output: 1000}}"}  # $1 a call
    model_server.follow(Script(default=Answer(text="Yes.", usage=USED)))
    day = {**prices, "HERMES_JOBS_BUDGETS__DAY_USD": "100", "HERMES_JOBS_TOOLSETS__ENABLED": "[]"}
    first = home.run("send", "One", **day)
    assert (first.code, first.out, first.err) == (0, "Yes.\n", "")
    limit = {**day, "HERMES_JOBS_BUDGETS__DAY_USD": "2.5", "HERMES_JOBS_MODEL__MAX_TOKENS": "300"}
    told = "80% of budgets.day_usd is used up ($2.00 of $2.50)"
    second = home.run("send", "Two", **limit)
    assert (second.code, second.out, second.err) == (0, "Yes.\n", f"· {told}\n")
    (turn, before) = home.run("turns", "list", "--json").json
    assert (turn["warnings"], before["warnings"]) == ([told], [])
    higher = {**limit, "HERMES_JOBS_BUDGETS__DAY_USD": "3.5"}
    third = home.run("send", "--json", "Three", **higher)
    assert third.json["warnings"] == ["86% of budgets.day_usd is used up ($3.00 of $3.50)"]
    assert home.run("views", "rebuild").code == 0
    assert home.turn(turn["turn"])["warnings"] == [told]


def test_a_limit_in_tokens_is_shown_in_tokens_for_each_turn(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(default=Answer(text="Yes.", usage=USED)))
    room = {"HERMES_JOBS_TOOLSETS__ENABLED": "[]", "HERMES_JOBS_BUDGETS__TURN_TOKENS": "1200"}
    room["HERMES_JOBS_MODEL__MAX_TOKENS"] = "300"
    for _ in range(2):
        warned = home.send("Hello", **room)["warnings"]
        assert warned == ["83% of budgets.turn_tokens is used up (1,000 of 1,200 tokens)"]
    assert home.run("send", "-q", "Hello", **room).err == ""
