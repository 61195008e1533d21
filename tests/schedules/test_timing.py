"""Timings: their canonical text, and that nothing due is missed or doubled, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schedules.timing import (
    At,
    Calendar,
    Cron,
    Daily,
    Every,
    Interval,
    Once,
    Timing,
    Unreadable,
    Weekly,
    next_due,
    read,
    upcoming,
    written,
)
from tests.examples import examples
from tests.schedules.oracle import dues, is_day, transitions
from tests.schedules.timings import (
    FIRST_YEAR,
    YEARS,
    ZONES,
    calendars,
    crons,
    intervals,
    moments,
    timings,
    zones,
)

BERLIN = ZoneInfo("Europe/Berlin")


@cache
def changes(name: str) -> list[datetime]:
    """Every change of that zone's clock in ten years."""
    return transitions(ZoneInfo(name), FIRST_YEAR, YEARS)


@given(timings)
def test_the_canonical_text_and_the_stored_form_give_the_same_value_back(timing: Timing) -> None:
    assert read(written(timing)) == timing
    assert msgspec.json.decode(msgspec.json.encode(timing), type=Timing) == timing


@given(st.text(max_size=40))
def test_any_other_text_is_unreadable(text: str) -> None:
    try:
        timing = read(text)
    except Unreadable:
        return
    assert written(timing) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "every day",
        "every day at 9",
        "every day at 25:00",
        "every day at 09:00 ",
        "every Monday and Monday at 09:00",
        "every 2 days at 09:00",
        "every 30 seconds",
        "every 99999999 hours",
        "at 2026-02-30T09:00:00+01:00",
        "on the 32nd of every month at 09:00",
        "every day at 09:00 starting 2026-02-30",
        "61 9 * * *",
    ],
)
def test_near_canonical_text_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text)


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone, and a moment shortly before its clock changes, or any other."""
    name = draw(zones)
    near = st.sampled_from(changes(name)) if changes(name) else moments
    begin = draw(st.one_of(near, moments)) - timedelta(minutes=draw(st.integers(1, 1440)))
    return name, begin.replace(second=0)


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(st.one_of(calendars(), crons()), spans())
def test_every_due_time_is_the_one_that_looking_at_every_minute_finds(
    timing: Calendar | Cron, span: tuple[str, datetime]
) -> None:
    name, begin = span
    zone, end = ZoneInfo(name), begin + timedelta(days=2)
    found = []
    for due in upcoming(timing, begin, zone):
        if due > end:
            break
        found.append(due)
    assert found == dues(timing, zone, begin, end)


@settings(max_examples=examples(60))
@given(calendars(), moments, zones)
def test_no_day_of_a_long_wait_is_passed_over(calendar: Calendar, after: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    due = next_due(calendar, after, zone)
    day = after.astimezone(zone).date() + timedelta(days=1)
    last = due.astimezone(zone).date() - timedelta(days=1) if due else date(2040, 1, 1)
    between = (day + timedelta(days=number) for number in range(min((last - day).days + 1, 800)))
    assert not any(is_day(calendar, each) for each in between)


@settings(max_examples=examples(60))
@given(st.one_of(calendars(), crons(), intervals), moments, zones, st.integers(1, 3 * 86_400))
def test_it_does_not_matter_from_where_the_next_due_time_is_asked(
    timing: Timing, after: datetime, name: str, seconds: int
) -> None:
    zone = ZoneInfo(name)
    due = next_due(timing, after, zone, since=after)
    later = after + timedelta(seconds=seconds)
    if due is not None and later < due:
        assert next_due(timing, later, zone, since=after) == due
    elif due is not None:
        following = next_due(timing, due, zone, since=after)
        assert following is None or following > due


@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize("minute", [90, 150, 9 * 60])
def test_a_time_of_day_is_due_once_on_each_day_of_ten_years(name: str, minute: int) -> None:
    zone, daily = ZoneInfo(name), Calendar(days=Daily(), times=At((minute,)))
    begin = datetime(FIRST_YEAR, 1, 1, tzinfo=zone)
    local = [due.astimezone(zone) for due in islice(upcoming(daily, begin, zone), 365 * YEARS)]
    assert all(later.date() - earlier.date() == timedelta(days=1) for earlier, later in pairwise(local))
    told = divmod(minute, 60)
    odd = [due for due in local if (due.hour, due.minute) != told]
    assert all(due.replace(fold=0) == due and due.fold == 0 for due in local)
    assert {due.date() for due in odd} <= {change.astimezone(zone).date() for change in changes(name)}
    assert all((due.hour, due.minute) > told for due in odd)


@pytest.mark.parametrize("name", ZONES)
def test_an_hourly_schedule_keeps_its_pace_when_the_clock_changes(name: str) -> None:
    zone = ZoneInfo(name)
    hourly = read("0 * * * *")
    for change in changes(name) or [datetime(2026, 3, 29, tzinfo=UTC)]:
        span = islice(upcoming(hourly, change - timedelta(days=1), zone), 48)
        waits = {later - earlier for earlier, later in pairwise(span)}
        assert max(waits) <= timedelta(minutes=90)  # on Lord Howe the clock changes by half an hour
        assert min(waits) >= timedelta(minutes=30)


def shown(timing: str, begin: str, count: int = 4, zone: ZoneInfo = BERLIN) -> list[str]:
    """The next due times in the zone, as the clock there shows them."""
    start = datetime.fromisoformat(begin).replace(tzinfo=zone)
    return [
        f"{due.astimezone(zone):%d. %H:%M %z}" for due in islice(upcoming(read(timing), start, zone), count)
    ]


def test_a_time_that_is_skipped_is_due_right_after_the_gap() -> None:
    assert shown("30 2 * * *", "2027-03-27T00:00", 3) == [
        "27. 02:30 +0100",
        "28. 03:00 +0200",
        "29. 02:30 +0200",
    ]
    assert shown("every day at 02:00, 02:30 and 03:00", "2027-03-28T00:00", 2) == [
        "28. 03:00 +0200",
        "29. 02:00 +0200",
    ]
    howe = ZoneInfo("Australia/Lord_Howe")
    assert shown("15 2 * * *", "2026-10-04T00:00", 2, howe) == ["04. 02:30 +1100", "05. 02:15 +1100"]


def test_a_time_that_occurs_twice_is_due_the_first_time() -> None:
    assert shown("30 2 * * *", "2027-10-30T12:00", 2) == ["31. 02:30 +0200", "01. 02:30 +0100"]
    assert shown("30 2 * * *", "2027-10-31T02:15", 2) == ["31. 02:30 +0200", "01. 02:30 +0100"]
    between = datetime(2027, 10, 31, 2, 15, fold=1, tzinfo=BERLIN)
    due = next_due(read("30 2 * * *"), between, BERLIN)
    assert due is not None
    assert due.astimezone(BERLIN).isoformat() == "2027-11-01T02:30:00+01:00"


def test_an_interval_is_elapsed_time_and_ignores_clock_changes() -> None:
    assert shown("every 2 hours", "2027-03-28T01:30", 2) == ["28. 04:30 +0200", "28. 06:30 +0200"]
    assert shown("every 2 days", "2027-03-27T12:00", 1) == ["29. 13:00 +0200"]
    assert shown("every 90 minutes starting 2027-10-31T00:00:00+02:00", "2027-10-30T12:00", 4) == [
        "31. 00:00 +0200",
        "31. 01:30 +0200",
        "31. 02:00 +0100",
        "31. 03:30 +0100",
    ]


def test_an_interval_is_counted_from_the_moment_that_is_named_however_long_ago_that_is() -> None:
    since = datetime(2000, 1, 1, tzinfo=UTC)
    after = datetime(2026, 11, 18, 10, 7, tzinfo=UTC)
    due = next_due(Interval(1800), after, BERLIN, since=since)
    assert due == datetime(2026, 11, 18, 10, 30, tzinfo=UTC)
    assert next_due(Interval(1800), after, BERLIN) == after + timedelta(minutes=30)


def test_a_moment_is_due_once() -> None:
    at = datetime(2026, 12, 24, 18, tzinfo=UTC)
    assert next_due(Once(at), at - timedelta(seconds=1), BERLIN) == at
    assert next_due(Once(at), at, BERLIN) is None


def test_cron_takes_either_day_where_both_are_named() -> None:
    assert shown("0 9 13 * 5", "2026-11-12T12:00", 4) == [
        "13. 09:00 +0100",
        "20. 09:00 +0100",
        "27. 09:00 +0100",
        "04. 09:00 +0100",
    ]


def test_a_day_that_the_zone_left_out_is_made_up_for_after_it() -> None:
    apia = ZoneInfo("Pacific/Apia")  # it had no December 30 in 2011
    daily = Calendar(days=Daily(), times=At((540,)))
    begin = datetime(2011, 12, 29, 12, tzinfo=apia)
    found = [due.astimezone(apia).isoformat() for due in islice(upcoming(daily, begin, apia), 3)]
    assert found == ["2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00", "2012-01-01T09:00:00+14:00"]


@pytest.mark.parametrize(
    "timing",
    [
        Calendar(days=Weekly((0,)), times=At((0,)), until=date(2020, 1, 1)),
        Once(datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_an_ended_schedule_is_never_due_again(timing: Timing) -> None:
    assert next_due(timing, datetime(2026, 1, 1, tzinfo=UTC), BERLIN) is None


@example(Interval(60))
@example(Calendar(days=Daily(), times=Every(15, 0, 1425)))
@given(timings)
def test_the_end_of_all_dates_is_the_end_of_all_schedules(timing: Timing) -> None:
    last = datetime.max.replace(microsecond=0, tzinfo=UTC)
    assert next_due(timing, last, BERLIN) is None
