"""Days of the calendar: `December 24`, `24.12.2026`, `tomorrow`, `this Friday`, `next Monday`."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime

from schedules.phrases.numbers import read_ordinal, read_whole
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import (
    ComingWeekday,
    Found,
    Moment,
    OnDate,
    Part,
    Past,
    Piece,
    RelativeDay,
    Vague,
)
from schedules.phrases.tokens import Sentence
from schedules.phrases.words import FULL_DAYS, PARTS, SHORT_DAYS, month_at, read_day_names
from schedules.timing.names import MONTHS

LEAP_YEAR = 2000
PERIODS = ("week", "month", "year", "quarter", "weekend")
VAGUE = {
    "lunchtime": "12:00", "lunch": "12:00", "dawn": "6:00", "sunrise": "6:00", "breakfast": "8:00",
    "dusk": "18:00", "sunset": "18:00", "dinner": "19:00", "bedtime": "22:00",
}  # fmt: skip
VAGUE_PHRASES = (
    "first thing in the morning", "first thing", "end of the day", "end of day", "eod",
    "close of business", "cob", "business hours", "office hours", "working hours", "work hours",
    "later today", "later", "soon", "sometime", "at some point", "from time to time", "once in a while",
    "now and then", "regularly", "occasionally", "periodically", "frequently", "end of the month",
    "end of month", "beginning of the month", "start of the month", "end of the week", "end of the year",
    "beginning of the week", "start of the week", "beginning of the year", "start of the year", "year's end",
    "middle of the month", "middle of the day", "middle of the night", "day and night",
    "around the clock", "24 / 7",
)  # fmt: skip


def read_date(sentence: Sentence, at: int) -> Found | None:
    """A day of the calendar, with or without its year. Raises `Refusal` where there is no such day."""
    begin = sentence.skip(at, "on the", "on", "at", "the")
    weekday = read_day_names(sentence, begin)
    named = None
    if weekday is not None and weekday.number == 1 and not weekday.plural:
        (named,) = weekday.weekdays
        begin = sentence.skip(weekday.end, ", the", ",", "the")
    found = _written(sentence, begin) or _month_first(sentence, begin) or _day_first(sentence, begin)
    if found is None:
        return None
    (piece,) = found.pieces
    if isinstance(piece, OnDate):
        piece = piece._replace(weekday=named)
    return Found((piece,), found.end, firm=sentence.text(at) == "on" or isinstance(piece, Moment))


def read_relative(sentence: Sentence, at: int) -> Found | None:
    """A day told from today, or a time that is past or too vague to be one."""
    begin = sentence.skip(at, "on")
    if end := sentence.after(begin, "the day after tomorrow", "day after tomorrow"):
        return _day(sentence, 2, "the day after tomorrow", end)
    word = sentence.text(begin)
    if word in {"today", "tomorrow"}:
        return _day(sentence, 1 if word == "tomorrow" else 0, word, begin + 1)
    if word == "tonight":
        return Found((RelativeDay(0, word), Part("night", repeats=False)), begin + 1, firm=False)
    if word == "this" and sentence.text(begin + 1) in PARTS:
        part = PARTS[sentence.text(begin + 1)]
        return Found((RelativeDay(0, "today"), Part(part, repeats=False)), begin + 2, firm=False)
    return _coming(sentence, begin) or _past(sentence, begin) or _vague(sentence, at)


def _day(sentence: Sentence, days: int, word: str, end: int) -> Found:
    pieces: tuple[Piece, ...] = (RelativeDay(days, word),)
    if part := PARTS.get(sentence.text(end)):
        return Found((*pieces, Part(part, repeats=False)), end + 1, firm=False)
    return Found(pieces, end, firm=False)


def _coming(sentence: Sentence, at: int) -> Found | None:
    begin = sentence.after(
        at, "the coming", "the next", "the upcoming", "the following", "this coming", "this upcoming",
        "coming", "upcoming", "next", "this",
    )  # fmt: skip
    if begin is None:
        return None
    which = sentence.text(begin - 1)
    if sentence.text(begin) == "week" and which == "next":
        behind = sentence.skip(begin + 1, "on", ",")
        if (number := _weekday(sentence, behind)) is not None:
            return _with_part(sentence, ComingWeekday(number, "next week"), behind + 1)
    if sentence.text(begin) in PERIODS:
        words = sentence.shown(at, begin + 1)
        return Found((Vague(words, "one date and time, such as 'tomorrow at 9'"),), begin + 1, firm=False)
    number = _weekday(sentence, begin)
    if number is None:
        return None
    if end := sentence.after(begin + 1, "week", "next week"):
        return Found(
            (Vague(sentence.shown(at, end), "one date and time, such as 'tomorrow at 9'"),), end, firm=False
        )
    return _with_part(sentence, ComingWeekday(number, "coming" if "coming" in which else which), begin + 1)


def _with_part(sentence: Sentence, piece: ComingWeekday, end: int) -> Found:
    if part := PARTS.get(sentence.text(end)):
        return Found((piece, Part(part, repeats=False)), end + 1, firm=False)
    return Found((piece,), end, firm=False)


def _past(sentence: Sentence, at: int) -> Found | None:
    if sentence.text(at) == "yesterday":
        return Found((Past("yesterday"),), at + 1, firm=False)
    if sentence.text(at) == "last" and (
        _weekday(sentence, at + 1) is not None or sentence.text(at + 1) == "night"
    ):
        return Found((Past(sentence.shown(at, at + 2)),), at + 2, firm=False)
    if sentence.text(at) == "ago":
        return Found((Past("ago"),), at + 1, firm=False)
    return None


def _vague(sentence: Sentence, at: int) -> Found | None:
    begin = sentence.skip(at, "at the", "at", "during", "in the", "by the", "over")
    if end := sentence.after(begin, *VAGUE_PHRASES):
        return Found(
            (Vague(sentence.shown(at, end), "a time such as 9:00, or a window such as 9 to 17"),), end, False
        )
    if begin > at and (time := VAGUE.get(sentence.text(begin))):
        return Found(
            (Vague(sentence.shown(at, begin + 1), f"a time, such as {time}"),), begin + 1, firm=False
        )
    return None


def _weekday(sentence: Sentence, at: int) -> int | None:
    word = sentence.text(at)
    return FULL_DAYS.get(word, SHORT_DAYS.get(word))


def _written(sentence: Sentence, at: int) -> Found | None:
    """`2026-12-24`, `2026-12-24T18:00Z`, `24.12.2026`, `12/24/2026`."""
    text = sentence.text(at)
    if sentence.kind(at) == "iso":
        if len(text) > 10:
            return Found((Moment(_moment(text)),), at + 1)
        year, month, day = (int(part) for part in text.split("-"))
        return Found((_checked(month, day, year),), at + 1)
    if sentence.kind(at) != "date":
        return None
    first, second, year = (int(part) for part in re.split(r"[./]", text))
    if "." in text or first > 12:
        return Found((_checked(second, first, year),), at + 1)
    if second <= 12 and first != second:
        raise Refusal(
            "ambiguous",
            f"{text!r} may be {_month_name(second)} {first} or {_month_name(first)} {second}.",
            f"Write {year}-{first:02}-{second:02} or {year}-{second:02}-{first:02}.",
        )
    return Found((_checked(first, second, year),), at + 1)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise Refusal("impossible", f"There is no {text.upper()}.", "Write 2026-12-24T18:00.") from None
    return moment.replace(microsecond=0)


def _month_first(sentence: Sentence, at: int) -> Found | None:
    """`December 24`, `Dec 24th, 2026`, `December the 24th`."""
    month = month_at(sentence, at)
    if month is None:
        return None
    begin = sentence.skip(at + 1, ".") if len(sentence.text(at)) <= 4 else at + 1
    begin = sentence.skip(begin, "the")
    day = read_ordinal(sentence, begin) or read_whole(sentence, begin)
    if day is None or not 1 <= day.value <= 99:
        return None
    return _with_year(sentence, month, day.value, day.end)


def _day_first(sentence: Sentence, at: int) -> Found | None:
    """`24 December`, `the 24th of December 2026`."""
    day = read_ordinal(sentence, at) or (read_whole(sentence, at) if sentence.kind(at) == "number" else None)
    if day is None or not 1 <= day.value <= 99:
        return None
    begin = sentence.skip(day.end, "of", "day of") if sentence.kind(at) != "number" else day.end
    month = month_at(sentence, begin)
    return None if month is None else _with_year(sentence, month, day.value, begin + 1)


def _with_year(sentence: Sentence, month: int, day: int, end: int) -> Found:
    behind = sentence.skip(end, ",", ".")
    if sentence.kind(behind) == "number" and re.fullmatch(r"20\d\d", sentence.text(behind)):
        return Found((_checked(month, day, int(sentence.text(behind))),), behind + 1)
    return Found((_checked(month, day, None),), end)


def _checked(month: int, day: int, year: int | None) -> OnDate:
    if not 1 <= month <= 12 or (year is not None and not 1 <= year <= 9999):
        raise Refusal("impossible", f"There is no month {month}.", "Write dates as 2026-12-24.")
    if not 1 <= day <= monthrange(year or LEAP_YEAR, month)[1]:
        of_year = f" {year}" if year else ""
        raise Refusal(
            "impossible", f"There is no {_month_name(month)} {day}{of_year}.", "Name a day that exists."
        )
    return OnDate(month, day, year)


def _month_name(month: int) -> str:
    return MONTHS[month - 1] if 1 <= month <= 12 else str(month)
