"""The canonical text of a timing, for users and for events: writing it, and reading it again.

Other texts are parsed by `schedules.phrases`.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from itertools import pairwise
from typing import assert_never

from schedules.timing.cron import BadCron, as_cron
from schedules.timing.names import MONTHS, WEEKDAYS, joined, ordinal_number, ordinal_word, parted
from schedules.timing.values import (
    DAY,
    LONGEST,
    WORKDAYS,
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
            return _of_months(f"the {joined([_day(day) for day in _in_order(days)])}", every, months)
        case MonthWeekdays(ordinals=ordinals, weekdays=weekdays, every=every):
            which = joined([ordinal_word(ordinal) for ordinal in _in_order(ordinals)])
            return _of_months(f"the {which} {_one_of(weekdays)}", every, months)
        case _:
            assert_never(calendar.days)


def _in_order(days: tuple[int, ...]) -> list[int]:
    """Those that are counted from the end come last."""
    return sorted(days, key=lambda day: (day < 0, day))


def _day(day: int) -> str:
    return ordinal_number(day) if day > 0 else f"{ordinal_word(day)} day"


def _weekly(days: Weekly) -> str:
    if days.every > 1:
        return f"every {days.every} weeks on {joined([WEEKDAYS[weekday] for weekday in days.weekdays])}"
    return f"every {'weekday' if days.weekdays == WORKDAYS else _named(days.weekdays)}"


def _one_of(weekdays: tuple[int, ...]) -> str:
    if weekdays == WORKDAYS:
        return "weekday"
    return joined([WEEKDAYS[weekday] for weekday in weekdays], "or")


def _named(weekdays: tuple[int, ...]) -> str:
    return joined([WEEKDAYS[weekday] for weekday in weekdays])


def _of_months(which: str, every: int, months: str) -> str:
    if months:
        return f"every year on {which} of {months}"
    return f"on {which} of every {_counted(every, 'month')}"


class Unreadable(ValueError):
    """The text is not a timing's canonical text."""


_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d(?::\d\d)?)"
_ONCE = re.compile(rf"at ({_MOMENT})")
_COUNT = r"every (?:(\d+) )?(day|hour|minute|second)s?"
_INTERVAL = re.compile(rf"{_COUNT}(?: starting ({_MOMENT}))?")
_WINDOW = re.compile(rf"{_COUNT} from (\d\d:\d\d) to (\d\d:\d\d), (.+)")
_TIMES = re.compile(r"(.+?) at (\d\d:\d\d(?:(?:, | and )\d\d:\d\d)*)")
_BOUNDS = re.compile(r"(.+?)(?: starting (\d{4}-\d\d-\d\d))?(?: until (\d{4}-\d\d-\d\d))?")
_DAILY = re.compile(r"every (?:(\d+) )?days?(?: in (.+))?")
_WEEKLY = re.compile(r"every (?:(\d+) weeks on )?(.+?)(?: in (.+))?")
_MONTHLY = re.compile(r"on the (.+) of every (?:(\d+) )?months?")
_YEARLY = re.compile(r"every year on the (.+) of (.+)")
_COUNTED = re.compile(rf"(.+?) (weekday|(?:{'|'.join(WEEKDAYS)}).*)")

_WEEKDAY_NUMBERS = {name: number for number, name in enumerate(WEEKDAYS)}
_MONTH_NUMBERS = {name: number for number, name in enumerate(MONTHS, 1)}
_FROM_THE_END = range(-5, 0)
_DAY_NUMBERS = {_day(day): day for day in (*_FROM_THE_END, *range(1, 32))}
_ORDINAL_NUMBERS = {ordinal_word(ordinal): ordinal for ordinal in (*_FROM_THE_END, 1, 2, 3, 4, 5)}


def read(text: str) -> Timing:
    """The timing with this canonical text. Raises `Unreadable`."""
    try:
        timing = _read(text)
    except (ValueError, LookupError, OverflowError) as error:
        raise Unreadable(f"{text!r} is not how hermes-jobs writes a timing.") from error
    if isinstance(timing, Calendar) and not _is_ordered(timing):
        raise Unreadable(f"{text!r} names something twice, or not in its order.")
    if written(timing) != text:
        raise Unreadable(f"{text!r} is not how hermes-jobs writes a timing; {written(timing)!r} is.")
    return timing


def _is_ordered(calendar: Calendar) -> bool:
    """Whether all lists are sorted and without duplicates."""
    lists = [calendar.months]
    if isinstance(calendar.times, At):
        lists.append(calendar.times.minutes)
    if isinstance(calendar.days, Weekly | MonthWeekdays):
        lists.append(calendar.days.weekdays)
    if isinstance(calendar.days, MonthWeekdays):
        lists.append(calendar.days.ordinals)
    if isinstance(calendar.days, MonthDays):
        lists.append(calendar.days.days)
    return all(earlier < later for values in lists for earlier, later in pairwise(values))


def _read(text: str) -> Timing:
    if matched := _ONCE.fullmatch(text):
        return Once(datetime.fromisoformat(matched[1]))
    if matched := _INTERVAL.fullmatch(text):
        starting = datetime.fromisoformat(matched[3]) if matched[3] else None
        return Interval(_within(60, _seconds(matched[1], matched[2])), starting)
    try:
        return as_cron(text)
    except BadCron:
        return _read_calendar(text)


def _read_calendar(text: str) -> Calendar:
    bounds = _BOUNDS.fullmatch(text)
    if bounds is None:
        raise Unreadable(text)
    starting, until = (date.fromisoformat(bound) if bound else None for bound in bounds.group(2, 3))
    if matched := _WINDOW.fullmatch(bounds[1]):
        step = _within(60, _seconds(matched[1], matched[2])) // 60
        times: Times = Every(step, _minute(matched[3]), _minute(matched[4]))
        named = matched[5]
    elif matched := _TIMES.fullmatch(bounds[1]):
        times, named = At(tuple(_minute(time) for time in parted(matched[2]))), matched[1]
    else:
        raise Unreadable(text)
    days, months = _read_days(named)
    if days.every > 1 and starting is None:
        raise Unreadable(text)
    return Calendar(days=days, times=times, months=months, starting=starting, until=until)


def _read_days(text: str) -> tuple[Days, tuple[int, ...]]:
    if matched := _DAILY.fullmatch(text):
        return Daily(int(matched[1] or 1)), _months(matched[2])
    if matched := _MONTHLY.fullmatch(text):
        return _month_rule(matched[1], int(matched[2] or 1)), ()
    if matched := _YEARLY.fullmatch(text):
        return _month_rule(matched[1], 1), _months(matched[2])
    if matched := _WEEKLY.fullmatch(text):
        return Weekly(_weekdays(matched[2]), int(matched[1] or 1)), _months(matched[3])
    raise Unreadable(text)


def _month_rule(named: str, every: int) -> Days:
    words = parted(named)
    if all(word in _DAY_NUMBERS for word in words):
        return MonthDays(tuple(sorted(_DAY_NUMBERS[word] for word in words)), every)
    counted = _COUNTED.fullmatch(named)
    if counted is None:
        raise Unreadable(named)
    ordinals = tuple(sorted(_ORDINAL_NUMBERS[word] for word in parted(counted[1])))
    weekdays = (
        WORKDAYS
        if counted[2] == "weekday"
        else tuple(_WEEKDAY_NUMBERS[word] for word in parted(counted[2], "or"))
    )
    return MonthWeekdays(ordinals, weekdays, every)


def _weekdays(text: str) -> tuple[int, ...]:
    return WORKDAYS if text == "weekday" else tuple(_WEEKDAY_NUMBERS[word] for word in parted(text))


def _months(text: str | None) -> tuple[int, ...]:
    return tuple(_MONTH_NUMBERS[word] for word in parted(text)) if text else ()


def _seconds(count: str | None, unit: str) -> int:
    return int(count or 1) * dict(UNITS)[unit]


def _minute(text: str) -> int:
    hours, minutes = int(text[:2]), int(text[3:])
    if minutes > 59 or hours * 60 + minutes >= DAY:
        raise Unreadable(text)
    return hours * 60 + minutes


def _within(least: int, seconds: int) -> int:
    if not least <= seconds <= LONGEST:
        raise Unreadable(f"{seconds} s")
    return seconds
