"""An independent reading of timings: every minute of a span is looked at, and asked whether something is due.

It shares nothing with the code under test but the values, and the standard library's time zones.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from schedules.timing import (
    At,
    Calendar,
    Cron,
    Daily,
    Every,
    MonthDays,
    MonthWeekdays,
    Weekly,
)

MINUTE = timedelta(minutes=1)
MARGIN = timedelta(hours=30)
NAMES = {calendar.day_abbr[(number - 1) % 7].upper(): number for number in range(7)}
NAMES |= {calendar.month_abbr[number].upper(): number for number in range(1, 13)}


def dues(timing: Calendar | Cron, zone: ZoneInfo, begin: datetime, end: datetime) -> list[datetime]:
    """Every due time in (`begin`, `end`]; both are whole minutes in UTC, as every change of the clock is."""
    shown = list(_clock(zone, begin - MARGIN, end + MARGIN))
    minutes = _times(timing)
    days = {wall.date() for wall in _walls(shown)}
    named = {
        day
        for day in days
        if (is_day(timing, day) if isinstance(timing, Calendar) else _is_cron_day(timing, day))
    }
    if all(minute % 60 + 60 * hour in minutes for minute in minutes for hour in range(24)):
        found = {moment for moment, wall in shown if wall.date() in named and _minute(wall) in minutes}
    else:
        due = (wall for wall in _walls(shown) if wall.date() in named and _minute(wall) in minutes)
        found = {_first(shown, wall) for wall in due}
    return sorted(moment for moment in found if begin < moment <= end)


def _clock(zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """What the clock shows at each minute."""
    while begin <= end:
        yield begin, begin.astimezone(zone).replace(tzinfo=None, fold=0)
        begin += MINUTE


def _walls(shown: list[tuple[datetime, datetime]]) -> Iterator[datetime]:
    """Every minute that a clock could show between the first and the last, shown or not."""
    wall, last = shown[0][1], shown[-1][1]
    while wall <= last:
        yield wall
        wall += MINUTE


def _first(shown: list[tuple[datetime, datetime]], wall: datetime) -> datetime:
    """The first moment at which the clock shows that time or, having skipped it, a later one."""
    begin = max(0, int((wall - shown[0][1]) / MINUTE) - 200)  # no clock of these is put forward by more
    return next(moment for moment, seen in shown[begin:] if seen >= wall)


def _minute(wall: datetime) -> int:
    return wall.hour * 60 + wall.minute


def _times(timing: Calendar | Cron) -> set[int]:
    """The times of a day, as minutes since midnight."""
    if isinstance(timing, Calendar):
        return _minutes(timing.times)
    minute, hour = timing.expression.split()[:2]
    hours = [each for each in range(24) if _field(hour, each, 0, 23)]
    return {each * 60 + past for each in hours for past in range(60) if _field(minute, past, 0, 59)}


def is_day(timing: Calendar, day: date) -> bool:
    """Whether the calendar names the day."""
    start = timing.starting
    outside = (timing.until and day > timing.until) or (start and day < start)
    if outside or (timing.months and day.month not in timing.months):
        return False
    match timing.days:
        case Daily(every=every):
            return every == 1 or (day.toordinal() - start.toordinal()) % every == 0  # type: ignore[union-attr]
        case Weekly(weekdays=weekdays, every=every):
            if every > 1:
                assert start is not None
                monday = start.toordinal() - start.weekday()
                if (day.toordinal() - day.weekday() - monday) % (7 * every):
                    return False
            return day.weekday() in weekdays
        case MonthDays(days=numbers, every=every):
            last = calendar.monthrange(day.year, day.month)[1]
            named = any(day.day == (number if number > 0 else last + 1 + number) for number in numbers)
            return named and _is_month(day, start, every)
        case MonthWeekdays(ordinals=ordinals, weekdays=weekdays, every=every):
            weeks = calendar.Calendar().itermonthdays2(day.year, day.month)
            such = [number for number, weekday in weeks if number and weekday in weekdays]
            chosen = [such[each - (each > 0)] for each in ordinals if abs(each) <= len(such)]
            return day.day in chosen and _is_month(day, start, every)


def _is_month(day: date, start: date | None, every: int) -> bool:
    if every == 1:
        return True
    assert start is not None
    return (day.year * 12 + day.month - start.year * 12 - start.month) % every == 0


def _minutes(times: At | Every) -> set[int]:
    if isinstance(times, At):
        return set(times.minutes)
    found, minute = set(), times.first
    last = times.last if times.last >= times.first else times.last + 1440
    while minute <= last:
        found.add(minute % 1440)
        minute += times.minutes
    return found


def _is_cron_day(cron: Cron, day: date) -> bool:
    """As crontab(5) has it: by both days where one of their fields begins with a star, else by either."""
    monthday, month, weekday = cron.expression.split()[2:]
    sunday = day.isoweekday() % 7
    by_weekday = _field(weekday, sunday, 0, 7) or (sunday == 0 and _field(weekday, 7, 0, 7))
    by_day = _field(monthday, day.day, 1, 31)
    if not _field(month, day.month, 1, 12):
        return False
    if monthday.startswith("*") or weekday.startswith("*"):
        return by_day and by_weekday
    return by_day or by_weekday


def _field(field: str, value: int, low: int, high: int) -> bool:
    for item in field.split(","):
        span, _, step = item.partition("/")
        begin, _, end = span.partition("-")
        if span == "*":
            first, last = low, high
        else:
            first = _number(begin)
            last = _number(end) if end else high if step else first
        if first <= value <= last and (value - first) % int(step or 1) == 0:
            return True
    return False


def _number(text: str) -> int:
    return NAMES[text] if text in NAMES else int(text)


def transitions(zone: ZoneInfo, first: int, years: int) -> list[datetime]:
    """The hours in UTC after which the zone's offset is another."""
    moment, found = datetime(first, 1, 1, tzinfo=UTC), []
    offset = moment.astimezone(zone).utcoffset()
    while moment.year < first + years:
        moment += timedelta(hours=1)
        if moment.astimezone(zone).utcoffset() != offset:
            offset = moment.astimezone(zone).utcoffset()
            found.append(moment)
    return found
