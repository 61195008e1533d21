"""Calendar rules: the matching days, and their times on the wall clock."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import assert_never

from schedules.timing.values import (
    Calendar,
    Daily,
    Days,
    MonthDays,
    MonthWeekdays,
    Weekly,
    minutes_of,
)

ONE_DAY = timedelta(days=1)
HORIZON = 45
"""Years in which a match is searched; the rarest possible rule matches every 40 years."""


def after_wall(calendar: Calendar, wall: datetime) -> datetime | None:
    """The first matching wall-clock time after `wall`, both without a zone; None where there is none."""
    minutes = minutes_of(calendar.times)
    for day in days_from(calendar, wall.date()):
        for minute in minutes:
            moment = datetime.combine(day, time(*divmod(minute, 60)))
            if moment > wall:
                return moment
    return None


def days_from(calendar: Calendar, first: date) -> Iterator[date]:
    """The matching days, from `first` on, ascending."""
    day = max(first, calendar.starting or first)
    end = min(calendar.until or date.max, date(min(day.year + HORIZON, date.max.year), 12, 31))
    while day <= end:
        if calendar.months and day.month not in calendar.months:
            day = _next_month(day)
            if day == date.max:
                return
            continue
        if falls_on(calendar.days, day, calendar.starting):
            yield day
        if day == date.max:
            return
        day += ONE_DAY


def falls_on(days: Days, day: date, starting: date | None) -> bool:
    """Whether the rule matches the day; periods are counted from `starting`."""
    match days:
        case Daily():
            return days.every == 1 or (day - _origin(starting)).days % days.every == 0
        case Weekly():
            weeks = (_monday(day) - _monday(_origin(starting))).days // 7 if days.every > 1 else 0
            return day.weekday() in days.weekdays and weeks % days.every == 0
        case MonthDays():
            return _right_month(days.every, day, starting) and (
                day.day in days.days or day.day - _length(day) - 1 in days.days
            )
        case MonthWeekdays():
            return (
                _right_month(days.every, day, starting)
                and day.weekday() in days.weekdays
                and _has_ordinal(day, days.ordinals, days.weekdays)
            )
        case _:
            assert_never(days)


def _has_ordinal(day: date, ordinals: tuple[int, ...], weekdays: tuple[int, ...]) -> bool:
    same = [number for number in range(1, _length(day) + 1) if _weekday(day, number) in weekdays]
    at = same.index(day.day)
    return at + 1 in ordinals or at - len(same) in ordinals


def _weekday(day: date, number: int) -> int:
    """The weekday of another day of the same month."""
    return (day.weekday() + number - day.day) % 7


def _right_month(every: int, day: date, starting: date | None) -> bool:
    if every == 1:
        return True
    origin = _origin(starting)
    return ((day.year - origin.year) * 12 + day.month - origin.month) % every == 0


def _origin(starting: date | None) -> date:
    assert starting is not None, "days that are counted have a day to count from"
    return starting


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _length(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _next_month(day: date) -> date:
    """The first day of the next month; the last possible date where there is none."""
    if (day.year, day.month) == (date.max.year, 12):
        return date.max
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)
