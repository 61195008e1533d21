"""Parses the canonical text of a timing. Other texts are parsed by `schedules.phrases`."""

from __future__ import annotations

import re
from datetime import date, datetime
from itertools import pairwise

from schedules.timing.cron import BadCron, as_cron
from schedules.timing.names import MONTHS, WEEKDAYS, ordinal_number, ordinal_word, parted
from schedules.timing.values import (
    DAY,
    LAST,
    LONGEST,
    WORKDAYS,
    At,
    Calendar,
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
from schedules.timing.writing import UNITS, written


class Unreadable(ValueError):
    """The text is no timing's canonical text."""


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
_DAY_NUMBERS = {ordinal_number(day): day for day in range(1, 32)} | {"last day": LAST}
_ORDINAL_NUMBERS = {ordinal_word(ordinal): ordinal for ordinal in (1, 2, 3, 4, 5, LAST)}


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
    return all(earlier < later for each in lists for earlier, later in pairwise(each))


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
    starting, until = (date.fromisoformat(each) if each else None for each in bounds.group(2, 3))
    if matched := _WINDOW.fullmatch(bounds[1]):
        step = _within(60, _seconds(matched[1], matched[2])) // 60
        times: Times = Every(step, _minute(matched[3]), _minute(matched[4]))
        named = matched[5]
    elif matched := _TIMES.fullmatch(bounds[1]):
        times, named = At(tuple(_minute(each) for each in parted(matched[2]))), matched[1]
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
