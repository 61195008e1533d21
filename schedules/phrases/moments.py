"""Single moments in users' words, most of them past: `yesterday`, `3 days ago`, `monday 9:00`, `1 nov`.

The rules for schedules read lengths, clock times and dates; this module adds past moments, in which a
schedule is never due.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from schedules.phrases.outcome import Refused, Understood
from schedules.phrases.parser import parse
from schedules.timing import Once

PROPOSAL = "Write 'yesterday', '3 days ago', 'monday 9:00', '2026-11-01' or '2026-11-01 12:30'."
YEARS = range(1900, 9999)
"""Years that every zone and every database can write."""

_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1, "the day before yesterday": -2}
_NAMES = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_SHORT = {name.lower(): number for number, name in enumerate(calendar.day_abbr)}
_WEEKDAYS = {**_NAMES, **_SHORT, "tues": 1, "thur": 3, "thurs": 3}
_WEEKDAY = re.compile(rf"(?:(on|this|last|next) )?({'|'.join(_WEEKDAYS)})\.?")
_PERIOD = re.compile(r"(this|last) (week|month|year)")
_LENGTH = re.compile(r"\d+(?:\.\d+)? ?[a-z]+")
_YEAR = re.compile(r"\b\d{4}\b")
_CLOCK_WORDS = 4
_EXACT = re.compile(r"(?:\b|\d)(?:h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\b")
"""Units that are counted exactly; days and longer ones are those of the calendar."""


class Moment(msgspec.Struct, frozen=True):
    """A moment with its zone. `whole_day`: no time of day was named, and `at` is the day's beginning."""

    at: datetime
    whole_day: bool = False


def parse_moment(text: str, now: datetime, zone: ZoneInfo, *, ahead: bool = False) -> Moment | Refused:
    """The moment that the text names; what may be past or to come is past, or with `ahead` to come.

    `now` has a zone; the text is read in `zone`.
    """
    words = " ".join(text.lower().split())
    here = now.astimezone(zone)
    for read in (_written, _length, _named, _dated):
        moment = read(words, here, ahead)
        if moment is not None:
            return moment if moment.at.year in YEARS else _out_of_range(text)
    return _refused(text)


def _out_of_range(text: str) -> Refused:
    message = f"{text!r} is not of the years {YEARS.start} to {YEARS.stop - 1}."
    return Refused("impossible", message, PROPOSAL)


def _refused(text: str) -> Refused:
    return Refused("unknown", f"{text!r} is not a moment that is understood.", PROPOSAL)


def _written(words: str, here: datetime, _ahead: bool) -> Moment | None:
    """ISO 8601, with its own offset if it has one."""
    try:
        at = datetime.fromisoformat(words.upper())
    except ValueError:
        return None
    whole_day = ":" not in words and "t" not in words and " " not in words
    return Moment(at if at.tzinfo else at.replace(tzinfo=here.tzinfo), whole_day)


def _length(words: str, here: datetime, ahead: bool) -> Moment | None:
    """`3 days ago`, `in an hour`; `3d` alone is that long ago, or ahead."""
    if words == "now":
        return Moment(here)
    if words.startswith("in "):
        then = _once(words, here)
        return Moment(then) if then is not None else None
    length = words.removesuffix(" ago")
    if length == words and not _LENGTH.fullmatch(words):
        return None
    then = _once(f"in {length}", here)
    if then is None:
        return None
    if ahead and length == words:
        return Moment(then)
    return Moment(_before(here, then) if _EXACT.search(length) else _mirrored(here, then))


def _before(here: datetime, then: datetime) -> datetime:
    """As many seconds before now as `then` is after it."""
    now = here.astimezone(UTC)
    return (now - (then.astimezone(UTC) - now)).astimezone(here.tzinfo)


def _mirrored(here: datetime, then: datetime) -> datetime:
    """As many months before now, or days, as `then` is after it."""
    months = (then.year - here.year) * 12 + then.month - here.month
    if months and (then.day, then.time()) == (here.day, here.time()):
        year, month = divmod(here.year * 12 + here.month - 1 - months, 12)
        day = min(here.day, calendar.monthrange(year, month + 1)[1])
        return here.replace(year=year, month=month + 1, day=day)
    return here - (then.replace(tzinfo=None) - here.replace(tzinfo=None))


def _named(words: str, here: datetime, ahead: bool) -> Moment | None:
    """`yesterday`, `last month`, `monday`, `today at noon`, `9:00`."""
    if match := _PERIOD.fullmatch(words):
        return Moment(_begun(here, match[2], back=match[1] == "last"), whole_day=True)
    for day, clock in _parts(words):
        at = None if clock is None else _clock(clock, here)
        if (clock is not None and at is None) or (not day and (clock or "").isdecimal()):
            continue
        chosen = _day(day, here, at, ahead)
        if chosen is not None:
            moment = datetime.combine(chosen, at or time(), here.tzinfo)
            return Moment(moment, whole_day=at is None)
    return None


def _parts(words: str) -> list[tuple[str, str | None]]:
    """The text as a day, and as a day with a time of day behind it, or before it."""
    tokens = words.replace(",", " ").split()
    parts: list[tuple[str, str | None]] = [(" ".join(tokens), None)]
    for size in range(1, min(_CLOCK_WORDS, len(tokens)) + 1):
        for day, clock in ((tokens[:-size], tokens[-size:]), (tokens[size:], tokens[:size])):
            parts.append((" ".join(day).removesuffix(" at"), " ".join(clock).removeprefix("at ")))
    return parts


def _day(words: str, here: datetime, at: time | None, ahead: bool) -> date | None:
    """The day that the words name; none at all are today, or the day on which it was that time last."""
    today = here.date()
    begun = at is None or at <= here.time()
    if not words or words == "at":
        if at is None:
            return None
        return today if begun != ahead else today + timedelta(days=1 if ahead else -1)
    if words in _DAYS:
        return today + timedelta(days=_DAYS[words])
    match = _WEEKDAY.fullmatch(words)
    if match is None:
        return None
    back = (today.weekday() - _WEEKDAYS[match[2]]) % 7
    if match[1] == "next" or (ahead and match[1] != "last"):
        later = at is not None and not begun and match[1] != "next"
        return today + timedelta(days=-back % 7 or (0 if later else 7))
    return today - timedelta(days=back or (7 if match[1] == "last" or not begun else 0))


def _begun(here: datetime, period: str, *, back: bool) -> datetime:
    midnight = datetime.combine(here.date(), time(), here.tzinfo)
    if period == "week":
        return midnight - timedelta(days=here.weekday() + 7 * back)
    if period == "year":
        return midnight.replace(month=1, day=1, year=here.year - back)
    year, month = divmod(here.year * 12 + here.month - 1 - back, 12)
    return midnight.replace(year=year, month=month + 1, day=1)


def _dated(words: str, here: datetime, ahead: bool) -> Moment | None:
    """`1 november`, `Nov 1 2025 9:00`; without a year the last such day, or the next."""
    for day, clock in _parts(words):
        at = time() if clock is None else _clock(clock, here)
        if at is None or not day:
            continue
        if year := _YEAR.search(day):
            noon = _noon(day, int(year[0]), here)
        else:
            years = range(here.year, here.year + 9) if ahead else range(here.year, here.year - 9, -1)
            dates = (_noon(f"{day} {candidate}", candidate, here) for candidate in years)
            fits = (moment for moment in dates if moment is not None and _fits(moment, at, here, ahead=ahead))
            noon = next(fits, None)
        if noon is not None:
            start_of_day = datetime.combine(noon.date(), at, here.tzinfo)
            return Moment(start_of_day, whole_day=clock is None)
    return None


def _fits(day: datetime, at: time, here: datetime, *, ahead: bool) -> bool:
    moment = datetime.combine(day.date(), at, here.tzinfo)
    return moment > here if ahead else moment <= here


def _noon(day: str, year: int, here: datetime) -> datetime | None:
    """Noon of a date of that year, as it is read in the year before."""
    if year - 1 not in YEARS:
        return None
    return _once(f"{day} at 12:00", here.replace(year=year - 1, month=12, day=31))


def _clock(words: str, here: datetime) -> time | None:
    tomorrow = _once(f"tomorrow at {words}", here)
    return None if tomorrow is None else tomorrow.time()


def _once(words: str, now: datetime) -> datetime | None:
    """The moment that the rules for schedules read, in the zone of `now`."""
    zone = now.tzinfo
    assert isinstance(zone, ZoneInfo), "moments are read in a named zone"
    parsed = parse(words, now, zone.key)
    if not isinstance(parsed, Understood) or parsed.task or not isinstance(parsed.timing, Once):
        return None
    return parsed.timing.at.astimezone(zone)
