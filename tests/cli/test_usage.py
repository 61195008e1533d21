"""`usage` adds up every response, and says where a price is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_script import Answer, Refuse, Script
from tests.model_server import ModelServer

USED = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 40}}


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    again = Refuse(status=503, headers={"retry-after": "0"})
    model_server.follow(Script(sequence=(again,), default=Answer(text="Yes.", usage=USED)))
    return Home(tmp_path, endpoint(model_server.base_url))


def test_reported_usage_is_summed_by_every_key(home: Home) -> None:
    first = home.send("one")
    home.send("two")
    (day,) = home.run("usage", "--json").json
    assert (day["requests"], day["input_tokens"], day["cache_read_tokens"], day["output_tokens"]) == (
        3,
        120,
        80,
        40,
    )
    assert day["prompt_tokens"] == 200
    assert day["total_tokens"] == 240
    assert len(home.run("usage", "--by", "session", "-n", "1", "--json").json) == 1
    sessions = home.run("usage", "--by", "session", "--json").json
    assert {row["session"]: row["output_tokens"] for row in sessions}[first["session"]] == 20
    (purpose,) = home.run("usage", "--by", "purpose", "--json").json
    assert purpose["purpose"] == "turn"


def test_an_unknown_price_is_not_guessed(home: Home) -> None:
    home.send("one")
    ran = home.run("usage", "--by", "model")
    assert "unknown" in ran.out
    assert "Not in the cost: 1 call of scripted without a price" in ran.err
    (row,) = home.run("usage", "--by", "model", "--json").json[-1:]
    assert row["cost_usd"] is None


def test_a_sum_with_unknown_parts_shows_its_minimum_and_what_is_missing(home: Home) -> None:
    home.run("config", "set", "models.prices.paid", "{input: 1000, output: 1000}")
    session = home.run("send", "--json", "-m", "paid", "one").json["session"]
    turn = home.run("send", "--json", "-s", session, "-m", "free-of-price", "two").json["turn"]
    missing = "1 call of free-of-price without a price (set one in models.prices)"
    for command in (("usage",), ("report",), ("sessions", "list"), ("sessions", "show", session)):
        assert "≥ $0." in home.run(*command).out, command
    for command in (("usage",), ("report",)):
        assert missing in home.run(*command).err, command
    for command in (("sessions", "show", session), ("turns", "show", turn)):
        assert missing in home.run(*command).out, command
    assert "config set models.prices.free-of-price '{" in home.run("usage").err
    assert "$0.0000" not in home.run("turns", "list").out
    assert home.turn(turn)["cost_usd"] is None
    page = home.work / "turn.html"
    home.run("turns", "show", turn, "--html", str(page))
    assert "<dd>unknown</dd>" in page.read_text()
    assert "Not in the cost: 1 call of free-of-price" in page.read_text()


def test_since_limits_the_usage_to_newer_calls(home: Home) -> None:
    home.send("one")
    assert home.run("usage", "--since", "2999-01-01", "--json").json == []
    assert home.run("usage", "--since", "whenever").code == 2


@pytest.mark.parametrize(
    "arguments", [("usage", "--since"), ("report", "--since"), ("sessions", "search", "x", "--after")]
)
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_a_day_that_some_zone_cannot_write_is_wrong_usage(
    arguments: tuple[str, ...], day: str, home: Home
) -> None:
    ran = home.run(*arguments, day)
    assert ran.code == 2
    assert "is not of the years 1900 to 9998" in ran.err


def test_tables_have_the_day_in_words_and_the_title_of_a_session(home: Home) -> None:
    session = home.send("What colour is tea?")["session"]
    assert home.run("usage").out.splitlines()[1].startswith("today ")
    (header, row) = home.run("usage", "--by", "session").out.splitlines()
    assert header.split()[-1] == "TITLE"
    assert row.startswith(session)
    assert row.endswith("What colour is tea?")
    assert "TITLE" not in home.run("usage", "--by", "model").out


def test_the_share_that_came_from_the_providers_cache_is_shown(home: Home) -> None:
    home.send("one")
    (row,) = home.run("usage", "--json").json
    assert row["cached_share"] == 0.4
    assert "40%" in home.run("usage").out


def test_where_everything_was_reported_nothing_is_estimated(home: Home) -> None:
    home.send("one")
    (row,) = home.run("usage", "--json").json
    assert row["estimated"] == {"requests": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
    assert "ESTIMATED" not in home.run("usage").out
    ran = home.run("usage", "--estimated")
    assert (ran.out, ran.code) == ("", 0)
    assert "Every call reported its usage." in ran.err


def test_a_day_is_one_of_the_configured_zone(home: Home) -> None:
    home.send("one")
    days = {
        zone: home.run("usage", "--json", HERMES_JOBS_SCHEDULES__TIMEZONE=zone).json[0]["day"]
        for zone in ("Pacific/Kiritimati", "Pacific/Niue")  # 25 hours apart
    }
    assert days["Pacific/Kiritimati"] > days["Pacific/Niue"]
