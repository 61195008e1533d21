"""Times of day in their many spellings, and the meaning of a bare hour next to a part of the day."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from schedules.phrases.outcome import Refusal, ambiguous, contradictory, impossible, unknown
from schedules.phrases.tokens import Forms, Phrase, ReadValue, Sentence, number_of, read_form
from schedules.phrases.vocabulary import NUMBERS, DayPart

Form = Literal["exact", "digits", "bare"]

UNCLEAR_HOURS = range(1, 7)
"""Bare hours that people mean in the morning as often as in the afternoon."""

PART_HOURS: dict[DayPart, frozenset[int]] = {
    "morning": frozenset(range(12)),
    "afternoon": frozenset(range(12, 19)),
    "evening": frozenset(range(16, 24)),
    "night": frozenset([*range(18, 24), *range(6)]),
}
"""The hours of the 24-hour clock in each part of the day."""

CLEAR_HOURS: dict[DayPart, frozenset[int]] = PART_HOURS | {
    "morning": frozenset(range(1, 12)),
    "night": frozenset([*range(19, 24), *range(5)]),
}
"""The possible hours of a bare hour next to a part of the day."""

_DIGITS = re.compile(r"(\d{1,2})(?:h|uhr|[:.])?(\d\d)?(?:[:.](\d\d))?\D*")


class Reading(NamedTuple):
    """A time as it was written: hour and minute, and how much that leaves open.

    `exact` is one minute of the day; `digits` (`5:30`) and `bare` (`5`, `half past five`) lack a word for
    which half of the day. `meridiem` is `am` or `pm` where it was written, or `midnight`.
    """

    hour: int
    minute: int
    form: Form
    meridiem: str = ""

    @property
    def minutes(self) -> int:
        """Minutes since midnight by the 24-hour clock."""
        return self.hour * 60 + self.minute

    @property
    def shown(self) -> str:
        """The reading by the 24-hour clock, for messages."""
        return f"{self.hour:02}:{self.minute:02}"

    @property
    def by_24_hours(self) -> bool:
        """Whether it can only be a time of the 24-hour clock, so that its neighbour is one too."""
        return self.form == "exact" and self.hour > 12 and not self.meridiem


NOON = Reading(12, 0, "exact")
MIDNIGHT = Reading(0, 0, "exact", "midnight")


def read_clock(
    sentence: Sentence, at: int, *, introduced: bool, counted: bool = True
) -> ReadValue[Reading] | None:
    """The time of day that begins there. Raises `Refusal` where no clock shows it.

    Bare numbers are one only where `introduced` by a word such as `at`; unless `counted`, `10 to 12` are two.
    """
    counted_forms = _COUNTED if introduced and counted else {}
    forms = {**_ALWAYS, **counted_forms, **(_INTRODUCED if introduced else _ALONE)}
    return read_form(forms, sentence, at)


def minute_of_day(reading: Reading, part: DayPart | None) -> int:
    """Minutes since midnight, given the part of the day that was named. Raises `Refusal`."""
    if part is None:
        if reading.form == "bare" and reading.hour in UNCLEAR_HOURS:
            raise unclear(reading)
        return reading.minutes
    if reading.form == "exact":
        if reading.hour not in PART_HOURS[part]:
            proposal = f"Leave out {part!r}, or name a time that is in it."
            raise contradictory(f"{reading.shown} is not in the {part}.", proposal)
        return reading.minutes
    hours = {reading.hour % 12, reading.hour % 12 + 12} & CLEAR_HOURS[part]
    if not hours:
        raise Refusal(
            "ambiguous" if reading.hour in {12, 5, 6} else "contradictory",
            f"{reading.shown} may mean several times, or none, in the {part}.",
            f"Leave out {part!r} and say the time with am or pm, or by the 24-hour clock.",
        )
    return min(hours) * 60 + reading.minute


def unclear(reading: Reading) -> Refusal:
    """The refusal of a bare hour."""
    hour, minute = reading.hour % 12, f":{reading.minute:02}" if reading.minute else ""
    shown = hour or 12
    return ambiguous(
        f"{shown}{minute} may be in the morning or in the afternoon.",
        f"Say {shown}{minute}am or {shown}{minute}pm, or {hour:02}:{reading.minute:02} "
        f"or {hour + 12}:{reading.minute:02}.",
    )


def _written(text: str, form: Form, meridiem: str = "") -> Reading:
    """A time in digits: `9`, `9:30`, `9.30`, `0900`, `21h30`."""
    matched = _DIGITS.fullmatch(text)
    if matched is None:
        raise impossible(f"{text!r} is not a time of day.", "Times look like 9:30, 21:00 or 9am.")
    if int(matched[3] or 0):
        raise unknown(f"{text!r} has seconds.", "Times are whole minutes, such as 9:30.")
    return _checked(int(matched[1]), int(matched[2] or 0), form, f"{text}{meridiem}", meridiem)


def _checked(hour: int, minute: int, form: Form, text: str, meridiem: str = "") -> Reading:
    """The reading, where a clock shows it. Raises `Refusal`."""
    if meridiem:
        if not 1 <= hour <= 12 or minute > 59:
            raise impossible(f"{text!r} is not a time of day.", "Before am and pm stand the hours 1 to 12.")
        return Reading(hour % 12 + (12 if meridiem == "pm" else 0), minute, "exact", meridiem)
    if (hour, minute) == (24, 0):
        raise ambiguous(f"{text!r} is the end of a day.", "Say 00:00 of the day that begins then.")
    if hour > 23 or minute > 59:
        raise impossible(f"{text!r} is not a time of day.", "The clock goes from 00:00 to 23:59.")
    return Reading(hour, minute, "exact" if hour == 0 or hour > 12 else form)


def _clock(phrase: Phrase) -> Reading:
    """`9:30`, `09:30`, `9am`, `9.30 pm`, `930am`."""
    text = phrase.text("clock")
    digits, meridiem = (text[:-2], text[-2:]) if text.endswith("m") else (text, "")
    return _written(digits, "exact" if text.startswith("0") else "digits", meridiem)


def _digits(phrase: Phrase) -> Reading:
    """`9`, `09`, `9.30`, `9 pm`."""
    text = phrase.text("hour")
    form: Form = "exact" if len(text) > 2 and text.startswith("0") else "digits" if "." in text else "bare"
    return _written(text, form, phrase.text("meridiem"))


def _by_24_hours(phrase: Phrase) -> Reading:
    """`21h`, `21h30`, `9 h`, `0900`."""
    return _written(phrase.text("hour"), "exact")._replace(form="exact")


def _hour_words(phrase: Phrase) -> Reading | None:
    """`nine`, `nine thirty`, `nine am`, `nine o'clock`; and `9 o'clock`."""
    hour = phrase.number("hour")
    minute = phrase.number("minute") if phrase.has("minute") else 0
    spoken = not phrase.has("minute") or minute >= 10 or phrase.text("joint") in {"oh", "o"}
    if not 1 <= hour <= 24 or not spoken or minute > 59:
        return None
    return _checked(hour, minute, "bare", phrase.shown, phrase.text("meridiem"))


def _half_hour(phrase: Phrase) -> Reading | None:
    """Raises `Refusal` for `half nine`."""
    if _hour_named(phrase.text("hour")) is None:
        return None
    raise ambiguous(
        f"{phrase.shown!r} is half past the hour to some, half before it to others.",
        "Say 'half past eight' or 8:30.",
    )


def _relative(phrase: Phrase) -> Reading | None:
    """`half past eight`, `quarter to nine`, `20 minutes to 5`, `ten past 9`."""
    hour, direction = _hour_named(phrase.text("hour")), phrase.text("direction")
    fraction = {"half": 30, "quarter": 15}.get(phrase.text("fraction"))
    minutes = fraction or phrase.number("count")
    wrong = (direction == "to" and minutes == 30) or (direction == "after" and minutes != 15)
    counts_else = not fraction and not phrase.has("unit") and minutes % 5 != 0
    if hour is None or wrong or counts_else or not 1 <= minutes <= 59:
        return None
    total = (hour.minutes + (-minutes if direction == "to" else minutes)) % (24 * 60)
    reading = Reading(*divmod(total, 60), hour.form, hour.meridiem)
    if reading.form == "bare" and reading.hour == 0:
        raise unclear(reading)
    return reading._replace(form="exact") if reading.hour > 12 else reading


def _hour_named(text: str) -> Reading | None:
    """The hour that `past` and `to` are counted from."""
    name, _, after = text.partition(" ")
    if name in {"noon", "midnight"}:
        return NOON if name == "noon" else MIDNIGHT
    if name.endswith("m"):
        return _written(name[:-2], "digits", name[-2:])
    hour = NUMBERS.get(name) if name in NUMBERS else number_of(name)
    meridiem = after if after in {"am", "pm"} else ""
    return _checked(hour, 0, "bare", name, meridiem) if hour is not None and hour <= 23 else None


_TO_HOUR = "direction=(past | to | after) <hour=hour_name>"
_ALWAYS: Forms[Reading] = {
    "noon | midday | n:12 noon": lambda _: NOON,
    "midnight | n:12 midnight": lambda _: MIDNIGHT,
    "<clock=clock> [<hours>]": _clock,
    f"[a] fraction=(half | quarter) [-] {_TO_HOUR}": _relative,
    f"<count=whole> unit=(minutes | minute | mins | min) {_TO_HOUR}": _relative,
}
_COUNTED: Forms[Reading] = {f"<count=whole> {_TO_HOUR}": _relative}
_INTRODUCED: Forms[Reading] = {
    "[a] half [-] <hour=hour_name>": _half_hour,
    r"hour=(`\d{1,2}(?:h|uhr)(?:\d\d)?|\d{4}(?:h|hrs|hours)`)": _by_24_hours,
    r"hour=(`n:\d{1,2}(?:\.\d\d)?`) h": _by_24_hours,
    r"hour=(`n:\d{1,2}(?:\.\d\d)?`) [<meridiem=meridiem> | <hours>]": _digits,
    r"hour=(`n:[0-2]\d[0-5]\d`) [<hours>]": _by_24_hours,
    "<hour_words> [<oclock>] [<meridiem=meridiem>]": _hour_words,
}
_ALONE: Forms[Reading] = {
    "<hour_words> <meridiem=meridiem>": _hour_words,
    "<hour_words> <oclock> [<meridiem=meridiem>]": _hour_words,
    "<hour=whole> <oclock> [<meridiem=meridiem>]": _hour_words,
}
