"""The canonical text of a timing, for users and for events. `read` parses it."""

from __future__ import annotations

from typing import assert_never

from schedules.timing.names import MONTHS, WEEKDAYS, joined, ordinal_number, ordinal_word
from schedules.timing.values import (
    LAST,
    WORKDAYS,
    Calendar,
    Cron,
    Daily,
    Every,
    Interval,
    MonthDays,
    MonthWeekdays,
    Once,
    Times,
    Timing,
    Weekly,
)

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def written(timing: Timing) -> str:
    """The canonical text of this timing."""
    match timing:
        case Cron():
            return timing.expression
        case Once():
            return f"at {timing.at.isoformat()}"
        case Interval():
            start = f" starting {timing.starting.isoformat()}" if timing.starting else ""
            return f"every {duration(timing.seconds)}{start}"
        case Calendar():
            return _calendar(timing)
        case _:
            assert_never(timing)


def duration(seconds: int) -> str:
    """A number of seconds as the text after `every`, in the largest unit that fits: `2 hours`, `minute`.

    One day is written as 24 hours: `every day` is a wall-clock timing.
    """
    unit, size = next(
        (unit, size) for unit, size in UNITS if seconds % size == 0 and not seconds == size == 86_400
    )
    return _counted(seconds // size, unit)


def clock(minutes: int) -> str:
    """Minutes since midnight as `09:30`."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _counted(count: int, unit: str) -> str:
    return unit if count == 1 else f"{count} {unit}s"


def _calendar(calendar: Calendar) -> str:
    days, times = _days(calendar), _times(calendar.times)
    text = f"{times}, {days}" if isinstance(calendar.times, Every) else f"{days} {times}"
    if calendar.starting:
        text += f" starting {calendar.starting.isoformat()}"
    if calendar.until:
        text += f" until {calendar.until.isoformat()}"
    return text


def _times(times: Times) -> str:
    if isinstance(times, Every):
        return f"every {duration(times.minutes * 60)} from {clock(times.first)} to {clock(times.last)}"
    return f"at {joined([clock(minute) for minute in times.minutes])}"


def _days(calendar: Calendar) -> str:
    months = joined([MONTHS[month - 1] for month in calendar.months]) if calendar.months else ""
    match calendar.days:
        case Daily(every=every):
            return f"every {_counted(every, 'day')}" + (f" in {months}" if months else "")
        case Weekly():
            return _weekly(calendar.days) + (f" in {months}" if months else "")
        case MonthDays(days=days, every=every):
            named = joined([*(ordinal_number(day) for day in days if day != LAST), *_last_day(days)])
            return _of_months(f"the {named}", every, months)
        case MonthWeekdays(ordinals=ordinals, weekdays=weekdays, every=every):
            counted = sorted(ordinals, key=lambda ordinal: ordinal if ordinal != LAST else 6)
            which = joined([ordinal_word(ordinal) for ordinal in counted])
            return _of_months(f"the {which} {_one_of(weekdays)}", every, months)
        case _:
            assert_never(calendar.days)


def _last_day(days: tuple[int, ...]) -> list[str]:
    return ["last day"] if LAST in days else []


def _weekly(days: Weekly) -> str:
    if days.every > 1:
        return f"every {days.every} weeks on {joined([WEEKDAYS[each] for each in days.weekdays])}"
    return f"every {'weekday' if days.weekdays == WORKDAYS else _named(days.weekdays)}"


def _one_of(weekdays: tuple[int, ...]) -> str:
    if weekdays == WORKDAYS:
        return "weekday"
    return joined([WEEKDAYS[each] for each in weekdays], "or")


def _named(weekdays: tuple[int, ...]) -> str:
    return joined([WEEKDAYS[each] for each in weekdays])


def _of_months(which: str, every: int, months: str) -> str:
    if months:
        return f"every year on {which} of {months}"
    return f"on {which} of every {_counted(every, 'month')}"
