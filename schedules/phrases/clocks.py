"""Times of day in their many spellings, and what a bare hour means beside a part of the day."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from schedules.phrases.numbers import CARDINALS, read_cardinal, read_whole
from schedules.phrases.outcome import Refusal
from schedules.phrases.tokens import Sentence

DayPart = Literal["morning", "afternoon", "evening", "night"]
Form = Literal["exact", "digits", "bare"]

NOON = 12 * 60
UNCLEAR_HOURS = range(1, 7)
"""Bare hours that people mean in the morning as often as in the afternoon."""

_DIGITS = re.compile(r"(\d{1,2})(?:[:.](\d\d))?(?:[:.](\d\d))?h?|(\d{1,2})(\d\d)")
_SUFFIXED = re.compile(r"(\d{1,2})(?:h|uhr)(\d\d)?|(\d\d)(\d\d)(?:h|hrs|hours)")
_MERIDIEM_WORD = re.compile(r"([ap])\.?m\.?")
_MERIDIEM = re.compile(r"\s?([ap])\.?\s?m\.?$")


class Reading(NamedTuple):
    """A time as it was told: hour and minute, and how much that leaves open.

    `exact` is one minute of the day; `digits` (`5:30`) and `bare` (`5`, `half past five`) lack a word for
    which half of the day. `meridiem` is the one that was told, or `midnight`.
    """

    hour: int
    minute: int
    form: Form
    meridiem: str = ""

    @property
    def minutes(self) -> int:
        """Minutes since midnight by the 24-hour clock."""
        return self.hour * 60 + self.minute


class ClockRead(NamedTuple):
    """A reading, and the place behind it."""

    reading: Reading
    end: int


def read_clock(sentence: Sentence, at: int, *, introduced: bool, counted: bool = True) -> ClockRead | None:
    """The time of day that begins there. Raises `Refusal` where no clock shows it.

    Bare numbers are one only where `introduced` by a word such as `at`; unless `counted`, `10 to 12` are two.
    """
    if end := sentence.after(at, "noon", "midday", "12 noon"):
        return ClockRead(Reading(12, 0, "exact"), end)
    if end := sentence.after(at, "midnight", "12 midnight"):
        return ClockRead(Reading(0, 0, "exact", "midnight"), end)
    if sentence.kind(at) == "clock":
        return _with_oclock(sentence, _digits(sentence.text(at)), at + 1)
    if spoken := _spoken(sentence, at, introduced=introduced, counted=counted):
        return spoken
    if not introduced:
        return _hour_word(sentence, at, introduced=False)
    return _bare_digits(sentence, at) or _hour_word(sentence, at, introduced=True)


def minute_of_day(reading: Reading, part: DayPart | None) -> int:
    """Minutes since midnight, with the part of the day that was named. Raises `Refusal`."""
    if part is None:
        if reading.form == "bare" and reading.hour in UNCLEAR_HOURS:
            raise unclear(reading)
        return reading.minutes
    if reading.form == "exact":
        if not _fits(reading.minutes, part):
            raise Refusal(
                "contradictory",
                f"{told(reading)} is not in the {part}.",
                f"Leave out {part!r}, or name a time that is in it.",
            )
        return reading.minutes
    return _shifted(reading, part)


def unclear(reading: Reading) -> Refusal:
    """The refusal of a bare hour."""
    hour, minute = reading.hour % 12, f":{reading.minute:02}" if reading.minute else ""
    shown = hour or 12
    return Refusal(
        "ambiguous",
        f"{shown}{minute} may be in the morning or in the afternoon.",
        f"Say {shown}{minute}am or {shown}{minute}pm, or {hour:02}:{reading.minute:02} "
        f"or {hour + 12}:{reading.minute:02}.",
    )


def told(reading: Reading) -> str:
    """The reading by the 24-hour clock, for messages."""
    return f"{reading.hour:02}:{reading.minute:02}"


def _digits(text: str) -> Reading:
    """A token of kind `clock`: `9:30`, `09:30`, `9am`, `9.30 pm`, `930am`."""
    meridiem = _MERIDIEM.search(text)
    matched = _DIGITS.fullmatch(text[: meridiem.start()] if meridiem else text)
    if matched is None:
        raise Refusal("impossible", f"{text!r} is no time of day.", "Times look like 9:30, 21:00 or 9am.")
    hour, minute, second = (
        int(matched[1] or matched[4]),
        int(matched[2] or matched[5] or 0),
        int(matched[3] or 0),
    )
    if second:
        raise Refusal("unknown", f"{text!r} has seconds.", "Times are whole minutes, such as 9:30.")
    if meridiem:
        return _halved(hour, minute, meridiem[1] + "m", text)
    leading = text.startswith("0") or hour > 12
    return _checked(hour, minute, "exact" if leading else "digits", text)


def _halved(hour: int, minute: int, meridiem: str, text: str) -> Reading:
    if not 1 <= hour <= 12 or minute > 59:
        raise Refusal(
            "impossible", f"{text.strip()!r} is no time of day.", "Before am and pm stand the hours 1 to 12."
        )
    return Reading(hour % 12 + (12 if meridiem == "pm" else 0), minute, "exact", meridiem)


def _checked(hour: int, minute: int, form: Form, text: str) -> Reading:
    if (hour, minute) == (24, 0):
        raise Refusal("ambiguous", f"{text!r} is the end of a day.", "Say 00:00 of the day that begins then.")
    if hour > 23 or minute > 59:
        raise Refusal("impossible", f"{text!r} is no time of day.", "The clock goes from 00:00 to 23:59.")
    return Reading(hour, minute, "exact" if hour == 0 or hour > 12 else form)


def _with_oclock(sentence: Sentence, reading: Reading, end: int) -> ClockRead:
    return ClockRead(reading, sentence.skip(end, "o'clock", "oclock", "hours", "hrs", "h", "uhr"))


def _bare_digits(sentence: Sentence, at: int) -> ClockRead | None:
    """What is a time only behind a word such as `at`: `9`, `9.30`, `0900`, `21h`, `21h30`."""
    text = sentence.text(at)
    if matched := _SUFFIXED.fullmatch(text):
        hour, minute = int(matched[1] or matched[3]), int(matched[2] or matched[4] or 0)
        return ClockRead(_checked(hour, minute, "exact", text), at + 1)
    if sentence.kind(at) != "number":
        return None
    if re.fullmatch(r"\d{1,2}\.\d\d|\d{1,2}", text):
        hour, minute = (int(part) for part in [*text.split("."), "0"][:2])
        form: Form = (
            "exact" if len(text) > 2 and text.startswith("0") else "digits" if "." in text else "bare"
        )
        reading = _checked(hour, minute, form, text)
        if sentence.after(at + 1, "h"):
            return ClockRead(reading._replace(form="exact"), at + 2)
        return _meridiem_word(sentence, at + 1, reading) or _with_oclock(sentence, reading, at + 1)
    if re.fullmatch(r"[0-2]\d[0-5]\d", text):
        return _with_oclock(sentence, _checked(int(text[:2]), int(text[2:]), "exact", text), at + 1)
    return None


def _hour_word(sentence: Sentence, at: int, *, introduced: bool) -> ClockRead | None:
    """`nine`, `nine thirty`, `nine am`, `nine o'clock`; and `9 o'clock` where nothing introduces it."""
    hour = read_whole(sentence, at)
    if hour is None or not 1 <= hour.value <= 24 or (sentence.kind(at) == "number" and introduced):
        return None
    end, minute = hour.end, 0
    if sentence.kind(at) == "word":
        minutes = read_cardinal(sentence, sentence.skip(end, "-", "oh", "o"))
        if minutes and (minutes.value >= 10 or sentence.after(end, "oh", "o")) and minutes.value <= 59:
            end, minute = minutes.end, minutes.value
    oclock = sentence.after(end, "o'clock", "oclock")
    if not introduced and oclock is None and not _MERIDIEM_WORD.fullmatch(sentence.text(end)):
        return None
    reading = _checked(hour.value, minute, "bare", sentence.shown(at, end))
    behind = end if oclock is None else oclock
    return _meridiem_word(sentence, behind, reading) or ClockRead(reading, behind)


def _meridiem_word(sentence: Sentence, at: int, reading: Reading) -> ClockRead | None:
    matched = _MERIDIEM_WORD.fullmatch(sentence.text(at))
    if matched is None:
        return None
    return ClockRead(
        _halved(reading.hour, reading.minute, matched[1] + "m", sentence.shown(at - 1, at + 1)), at + 1
    )


def _spoken(sentence: Sentence, at: int, *, introduced: bool, counted: bool) -> ClockRead | None:
    """`half past eight`, `quarter to nine`, `ten past 9`, `20 minutes to 5`."""
    begin = sentence.skip(at, "a") if sentence.after(at, "a quarter", "a half") else at
    if introduced and sentence.after(begin, "half") and _hour_name(sentence, sentence.skip(begin + 1, "-")):
        raise Refusal(
            "ambiguous",
            f"{sentence.shown(begin, begin + 2)!r} is half past the hour to some, half before it to others.",
            "Say 'half past eight' or 8:30.",
        )
    if sentence.text(begin) in {"half", "quarter"}:
        minutes, end = (30 if sentence.text(begin) == "half" else 15), sentence.skip(begin + 1, "-")
    else:
        number = read_whole(sentence, begin)
        if number is None or not 1 <= number.value <= 59:
            return None
        minutes, end = number.value, sentence.skip(number.end, "minutes", "minute", "mins", "min")
        if end == number.end and not (introduced and counted and minutes % 5 == 0):
            return None
    word = sentence.text(end)
    if word not in {"past", "to", "after"} or (word == "to" and minutes == 30):
        return None
    hour = _hour_name(sentence, end + 1)
    if hour is None or (word == "after" and minutes != 15):
        return None
    return _counted_from(hour, -minutes if word == "to" else minutes)


def _hour_name(sentence: Sentence, at: int) -> ClockRead | None:
    """The hour that `past` and `to` are counted from."""
    if sentence.kind(at) == "clock" and re.fullmatch(r"\d{1,2}\s?[ap]\.?\s?m\.?", sentence.text(at)):
        return ClockRead(_digits(sentence.text(at)), at + 1)
    if end := sentence.after(at, "noon", "midnight"):
        return ClockRead(Reading(12 if sentence.text(at) == "noon" else 0, 0, "exact"), end)
    hour = read_whole(sentence, at)
    if hour is None or not (0 <= hour.value <= 23 and len(sentence.shown(at, hour.end)) <= 12):
        return None
    if sentence.kind(at) == "word" and sentence.text(at) not in CARDINALS:
        return None
    reading = _checked(hour.value, 0, "bare", sentence.text(at))
    return _meridiem_word(sentence, hour.end, reading) or _with_oclock(sentence, reading, hour.end)


def _counted_from(hour: ClockRead, minutes: int) -> ClockRead:
    total = (hour.reading.minutes + minutes) % (24 * 60)
    reading = Reading(total // 60, total % 60, hour.reading.form, hour.reading.meridiem)
    if reading.form == "bare" and reading.hour == 0:
        raise unclear(reading)
    if reading.hour > 12:
        reading = reading._replace(form="exact")
    return ClockRead(reading, hour.end)


def _fits(minutes: int, part: DayPart) -> bool:
    match part:
        case "morning":
            return minutes < NOON
        case "afternoon":
            return NOON <= minutes < 19 * 60
        case "evening":
            return minutes >= 16 * 60
        case "night":
            return minutes >= 18 * 60 or minutes < 6 * 60


_SHIFTS: dict[DayPart, dict[int, int]] = {
    "morning": {hour: hour for hour in range(1, 12)},
    "afternoon": {12: 12} | {hour: hour + 12 for hour in range(1, 7)},
    "evening": {hour: hour + 12 for hour in range(4, 12)},
    "night": {12: 0} | {hour: hour for hour in range(1, 5)} | {hour: hour + 12 for hour in range(7, 12)},
}
"""The hour of the 24-hour clock that a bare hour is, in each part of the day."""


def _shifted(reading: Reading, part: DayPart) -> int:
    hour = _SHIFTS[part].get(reading.hour)
    if hour is None:
        raise Refusal(
            "ambiguous" if reading.hour in {12, 5, 6} else "contradictory",
            f"{told(reading)} is no time in the {part} that everybody would understand alike.",
            f"Leave out {part!r} and say the time with am or pm, or by the 24-hour clock.",
        )
    return hour * 60 + reading.minute
