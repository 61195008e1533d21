"""Random timings."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from hypothesis import strategies as st

from schedules.timing import (
    At,
    Calendar,
    Cron,
    Daily,
    Days,
    Every,
    Interval,
    MonthDays,
    MonthWeekdays,
    Once,
    Times,
    Weekly,
    as_cron,
)
from schedules.timing.values import LAST, WEEKEND, WORKDAYS

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
FIRST_YEAR, YEARS = 2024, 10

zones = st.sampled_from(ZONES)
moments = st.datetimes(datetime(2024, 1, 1), datetime(2033, 12, 1)).map(  # noqa: DTZ001 - a zone is added
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)
dates = st.dates(date(2024, 1, 1), date(2033, 12, 1))
offsets = st.integers(-14 * 4, 14 * 4).map(lambda quarters: timezone(timedelta(minutes=15 * quarters)))
local_moments = st.builds(lambda moment, offset: moment.astimezone(offset), moments, offsets)


def ascending(values: st.SearchStrategy[int], most: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    """A few of the values, each once."""
    return st.sets(values, min_size=1, max_size=most).map(lambda found: tuple(sorted(found)))


weekdays = st.one_of(ascending(st.integers(0, 6), 6), st.sampled_from([WORKDAYS, WEEKEND]))
ordinals = ascending(st.sampled_from([1, 2, 3, 4, 5, LAST, -2, -5]))
month_days = ascending(st.sampled_from([-5, -2, LAST, *range(1, 32)]))


@st.composite
def days(draw: st.DrawFn) -> Days:
    """Any rule of days."""
    every = draw(st.sampled_from([1, 1, 2, 3]))
    kind = draw(st.sampled_from(["daily", "weekly", "month_days", "month_weekdays"]))
    match kind:
        case "daily":
            return Daily(every)
        case "weekly":
            return Weekly(draw(weekdays), every)
        case "month_days":
            return MonthDays(draw(month_days), every)
        case _:
            return MonthWeekdays(draw(ordinals), draw(weekdays), every)


@st.composite
def times(draw: st.DrawFn, *, across_midnight: bool) -> Times:
    """Any times of a day."""
    if draw(st.booleans()):
        return At(draw(ascending(st.integers(0, 1439), 4)))
    first, last = draw(st.integers(0, 1439)), draw(st.integers(0, 1439))
    if not across_midnight and last < first:
        first, last = last, first
    if draw(st.booleans()):
        step = draw(st.sampled_from([10, 15, 20, 30, 60]))
        return Every(step, 0, 1440 - step)
    return Every(draw(st.integers(5, 300)), first, last)


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    """Any calendar."""
    rule = draw(days())
    months = draw(st.one_of(st.just(()), ascending(st.integers(1, 12), 4)))
    if isinstance(rule, MonthDays | MonthWeekdays) and rule.every > 1:
        months = ()
    starting = draw(dates) if rule.every > 1 else draw(st.one_of(st.none(), dates))
    return Calendar(
        days=rule,
        times=draw(times(across_midnight=rule == Daily())),
        months=months,
        starting=starting,
        until=draw(st.one_of(st.none(), st.none(), dates)),
    )


@st.composite
def crons(draw: st.DrawFn) -> Cron:
    """Any cron expression that cron reads."""

    def field(low: int, high: int) -> str:
        number = st.integers(low, high)
        span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
        step = st.integers(1, high)
        item = st.one_of(
            number.map(str),
            span,
            st.tuples(span, step).map(lambda parts: f"{parts[0]}/{parts[1]}"),
        )
        several = st.lists(item, min_size=1, max_size=3).map(",".join)
        return draw(st.one_of(st.just("*"), st.just("*"), step.map(lambda step: f"*/{step}"), several))

    day = field(1, 28)  # a later one may never come
    return as_cron(f"{field(0, 59)} {field(0, 23)} {day} {field(1, 12)} {field(0, 7)}")


intervals = st.builds(Interval, st.integers(60, 10_000_000), st.one_of(st.none(), local_moments))
onces = st.builds(Once, local_moments)
timings = st.one_of(calendars(), crons(), intervals, onces)
