"""`schedule preview`: what a text would mean, for people and for scripts; nothing is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.written_home import WrittenHome

SENTENCE = "Check my GitHub notifications every weekday at 9am and summarise them"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    home = WrittenHome(tmp_path)
    yield home
    home.close()


def test_a_sentence_is_taken_apart_for_scripts(home: WrittenHome) -> None:
    arguments = ("--tz", "Europe/Berlin", "--from", "2027-03-26T12:00", "-n", "2", "--json")
    ran = home.run("schedule", "preview", SENTENCE, *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "ok": True,
        "kind": "calendar",
        "canonical": "every weekday at 09:00",
        "timezone": "Europe/Berlin",
        "task": "Check my GitHub notifications and summarise them",
        "next": ["2027-03-29T09:00:00+02:00", "2027-03-30T09:00:00+02:00"],
        "error": None,
    }


def test_a_refusal_is_a_value_too_and_exit_code_2(home: WrittenHome) -> None:
    ran = home.run("schedule", "preview", "every morning", "--tz", "UTC", "--no-model", "--json")
    assert (ran.code, ran.err) == (2, "")
    assert ran.json == {
        "ok": False,
        "kind": None,
        "canonical": None,
        "timezone": "UTC",
        "task": None,
        "next": [],
        "error": "Morning is not an exact time. Say at what time, such as 'at 9'.",
    }


def test_the_preview_shows_time_and_task_or_examples(home: WrittenHome) -> None:
    arguments = ("--tz", "Europe/Berlin", "--from", "2031-11-20")
    shown = home.run("schedule", "preview", SENTENCE, *arguments)
    assert shown.out.splitlines() == [
        "When  every weekday at 09:00",
        "Zone  Europe/Berlin",
        "Task  Check my GitHub notifications and summarise them",
        "Next  Thu 20 Nov 2031 09:00 CET",
        "      Fri 21 Nov 2031 09:00 CET",
        "      Mon 24 Nov 2031 09:00 CET",
    ]
    refused = home.run("schedule", "preview", "30m", "--no-model")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        "Error: '30m' may be once or again and again.",
        "Hint: Say 'every 30m' or 'in 30m'.",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "following"),
    [
        ("*/20 9 * * 1", "cron", ["2026-11-23T09:00:00+01:00", "2026-11-23T09:20:00+01:00"]),
        ("every 90m", "interval", ["2026-11-18T11:30:00+01:00", "2026-11-18T13:00:00+01:00"]),
        ("2026-12-24T18:00", "once", ["2026-12-24T18:00:00+01:00"]),
        (
            "last weekday of the month at 17:00",
            "calendar",
            ["2026-11-30T17:00:00+01:00", "2026-12-31T17:00:00+01:00"],
        ),
        (
            "every day at 9am New York time",
            "calendar",
            ["2026-11-18T09:00:00-05:00", "2026-11-19T09:00:00-05:00"],
        ),
    ],
)
def test_each_kind_is_counted_from_the_moment_that_is_named(
    text: str, kind: str, following: list[str], home: WrittenHome
) -> None:
    arguments = ("--tz", "Europe/Berlin", "--from", "2026-11-18T10:00", "-n", "2", "--json")
    found = home.run("schedule", "preview", text, *arguments).json
    assert (found["kind"], found["next"]) == (kind, following)
    again = home.run("schedule", "preview", found["canonical"], *arguments).json
    assert (again["canonical"], again["kind"]) == (found["canonical"], kind)


def test_the_zone_is_the_one_that_is_set_where_none_is_named(home: WrittenHome) -> None:
    (home.path / "config.yaml").write_text("schedules: {timezone: Asia/Kathmandu}\n")
    found = home.run("schedule", "preview", "every day at 9", "--from", "2026-11-18T10:00:00Z", "--json").json
    assert (found["timezone"], found["next"][0]) == ("Asia/Kathmandu", "2026-11-19T09:00:00+05:45")
    machine = home.run("schedule", "preview", "every day at 9", "--json", TZ="America/New_York")
    assert machine.json["timezone"] == "Asia/Kathmandu"
    (home.path / "config.yaml").unlink()
    machine = home.run("schedule", "preview", "every day at 9", "--json", TZ="America/New_York")
    assert machine.json["timezone"] == "America/New_York"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tz", "Europe/Berln"], "'Europe/Berlin'"),
        (["--from", "soon"], "'soon' is not a moment"),
        (["-n", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_option_differs_from_a_refusal(arguments: list[str], told: str, home: WrittenHome) -> None:
    refused = home.run("schedule", "preview", "every day at 9", "--json", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err
