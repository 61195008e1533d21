"""The four kinds of timing as stored values. A timing has no zone: its schedule has one."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, TypeAlias, assert_never

import msgspec

Kind = Literal["cron", "interval", "once", "calendar"]

DAY = 24 * 60
"""Minutes of a day on the wall clock."""

LONGEST = 3_660 * DAY * 60
"""Seconds of the longest interval."""

WORKDAYS = (0, 1, 2, 3, 4)
WEEKEND = (5, 6)
LAST = -1
"""A last day; -2 is the second to last one, and so on."""


class Cron(msgspec.Struct, frozen=True, tag="cron"):
    """Five fields of a cron expression; created by `as_cron`."""

    expression: str


class Interval(msgspec.Struct, frozen=True, tag="interval"):
    """A period of elapsed time in seconds, 60 or more.

    The first due time is `starting`, or one interval after the moment from which it is counted.
    """

    seconds: int
    starting: datetime | None = None


class Once(msgspec.Struct, frozen=True, tag="once"):
    """One moment, with its offset from UTC."""

    at: datetime


class At(msgspec.Struct, frozen=True, tag="at"):
    """Times of a day: minutes since midnight on the wall clock, ascending, at least one."""

    minutes: tuple[int, ...]


class Every(msgspec.Struct, frozen=True, tag="every"):
    """Every `minutes` from `first` on, not after `last`; both are minutes since midnight.

    `last` before `first` is after midnight, which only `Daily()` may have.
    """

    minutes: int
    first: int
    last: int


Times: TypeAlias = At | Every


class Daily(msgspec.Struct, frozen=True, tag="daily"):
    """Every day, or every `every` days."""

    every: int = 1


class Weekly(msgspec.Struct, frozen=True, tag="weekly"):
    """These weekdays (0 is Monday, ascending), of every week or of every `every` weeks."""

    weekdays: tuple[int, ...]
    every: int = 1


class MonthDays(msgspec.Struct, frozen=True, tag="month_days"):
    """These days of a month, ascending, of every month or of every `every` months; those below zero are
    counted from its end (`LAST`)."""

    days: tuple[int, ...]
    every: int = 1


class MonthWeekdays(msgspec.Struct, frozen=True, tag="month_weekdays"):
    """The first, second … or last (`LAST`) day of a month that falls on one of these weekdays, counted as
    `MonthDays` are.

    With one weekday that is the first Monday, with all workdays the first working day.
    """

    ordinals: tuple[int, ...]
    weekdays: tuple[int, ...]
    every: int = 1


Days: TypeAlias = Daily | Weekly | MonthDays | MonthWeekdays


class Calendar(msgspec.Struct, frozen=True, tag="calendar", kw_only=True):
    """Wall-clock times on matching days.

    `months` (1 to 12) restricts the months if not empty. `starting` and `until` are the first and the last
    possible day. Periods (`every` is not 1) are counted from `starting`.
    """

    days: Days
    times: Times
    months: tuple[int, ...] = ()
    starting: date | None = None
    until: date | None = None


Timing: TypeAlias = Cron | Interval | Once | Calendar


def kind_of(timing: Timing) -> Kind:
    """The name of the timing's kind."""
    match timing:
        case Cron():
            return "cron"
        case Interval():
            return "interval"
        case Once():
            return "once"
        case Calendar():
            return "calendar"
        case _:
            assert_never(timing)


def minutes_of(times: Times) -> tuple[int, ...]:
    """The times of a day, as minutes since midnight, ascending."""
    if isinstance(times, At):
        return times.minutes
    last = times.last if times.last >= times.first else times.last + DAY
    return tuple(sorted({minute % DAY for minute in range(times.first, last + 1, times.minutes)}))
