"""Moments as people name them: of the past unless the future is asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules.phrases import Moment, Refused, parse_moment

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 14, 30, tzinfo=BERLIN)  # a Monday

PAST = """
now                         | 2026-11-23 14:30
today                       | 2026-11-23
yesterday                   | 2026-11-22
Yesterday at 9              | 2026-11-22 09:00
yesterday, 9:15             | 2026-11-22 09:15
9:15 yesterday              | 2026-11-22 09:15
the day before yesterday    | 2026-11-21
tomorrow 9:00               | 2026-11-24 09:00
3 days ago                  | 2026-11-20 14:30
three days ago              | 2026-11-20 14:30
half an hour ago            | 2026-11-23 14:00
an hour and a half ago      | 2026-11-23 13:00
2 weeks ago                 | 2026-11-09 14:30
a month ago                 | 2026-10-23 14:30
90m                         | 2026-11-23 13:00
2h                          | 2026-11-23 12:30
3d                          | 2026-11-20 14:30
in 2 hours                  | 2026-11-23 16:30
monday                      | 2026-11-23
monday 9:00                 | 2026-11-23 09:00
monday 18:00                | 2026-11-16 18:00
last monday                 | 2026-11-16
on friday                   | 2026-11-20
fri 8pm                     | 2026-11-20 20:00
Sunday at half past eight   | 2026-11-22 08:30
next monday                 | 2026-11-30
this week                   | 2026-11-23
last week                   | 2026-11-16
this month                  | 2026-11-01
last month                  | 2026-10-01
last year                   | 2025-01-01
9:00                        | 2026-11-23 09:00
at noon                     | 2026-11-23 12:00
18:00                       | 2026-11-22 18:00
1 november                  | 2026-11-01
Nov 1                       | 2026-11-01
december 24                 | 2025-12-24
24 dec at 18:00             | 2025-12-24 18:00
february 29                 | 2024-02-29
Nov 1, 2024 9:00            | 2024-11-01 09:00
2026-11-01                  | 2026-11-01
2026-11-01 12:30            | 2026-11-01 12:30
2026-11-01T12:30            | 2026-11-01 12:30
2026-11-01T12:30+00:00      | 2026-11-01 13:30
2026-11-01t12:30z           | 2026-11-01 13:30
1990-01-01                  | 1990-01-01
"""
AHEAD = """
monday                      | 2026-11-30
monday 18:00                | 2026-11-23 18:00
monday 9:00                 | 2026-11-30 09:00
friday                      | 2026-11-27
9:00                        | 2026-11-24 09:00
18:00                       | 2026-11-23 18:00
3d                          | 2026-11-26 14:30
3 days ago                  | 2026-11-20 14:30
december 24                 | 2026-12-24
february 29                 | 2028-02-29
"""
REFUSED = (
    *("", " ", "whenever", "monday to friday", "every day at 9", "13", "yesterday about tea", "0000-00-00"),
    *("31 february", "at", "12345-01-01", "0001-01-01", "99999999999 days ago"),
)


def rows(table: str) -> list[tuple[str, str]]:
    found = []
    for line in table.strip().splitlines():
        text, told = line.split("|")
        found.append((text.strip(), told.strip()))
    return found


def shown(found: Moment | Refused) -> str:
    assert isinstance(found, Moment), found
    at = found.at.astimezone(BERLIN)
    return f"{at:%Y-%m-%d}" if found.whole_day and not (at.hour or at.minute) else f"{at:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(("text", "told"), rows(PAST))
def test_ambiguous_moments_are_past_by_default(text: str, told: str) -> None:
    assert shown(parse_moment(text, NOW, BERLIN)) == told


@pytest.mark.parametrize(("text", "told"), rows(AHEAD))
def test_ambiguous_moments_are_future_on_request(text: str, told: str) -> None:
    assert shown(parse_moment(text, NOW, BERLIN, ahead=True)) == told


@pytest.mark.parametrize("text", REFUSED)
def test_an_expression_that_is_no_single_moment_is_refused_with_examples(text: str) -> None:
    refused = parse_moment(text, NOW, BERLIN)
    assert isinstance(refused, Refused)
    assert "'3 days ago'" in refused.proposal


def test_days_ago_are_days_of_the_clock_where_it_was_put_back() -> None:
    now = datetime(2026, 10, 26, 9, 0, tzinfo=BERLIN)
    assert shown(parse_moment("2 days ago", now, BERLIN)) == "2026-10-24 09:00"
    hours = parse_moment("48 hours ago", now, BERLIN)
    assert isinstance(hours, Moment)
    assert now.astimezone(UTC) - hours.at.astimezone(UTC) == timedelta(hours=48)


@given(st.text(max_size=30))
def test_nothing_that_is_written_raises(text: str) -> None:
    found = parse_moment(text, NOW, BERLIN)
    assert isinstance(found, Moment | Refused)
