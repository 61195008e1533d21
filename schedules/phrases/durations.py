"""Lengths of time: `30m`, `2 hours`, `1h30m`, `half an hour`, `an hour and a half`, `two weeks`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from schedules.phrases.numbers import read_amount
from schedules.phrases.tokens import Sentence

Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]

_SPELLINGS: dict[Unit, str] = {
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w wk wks week weeks",
    "month": "month months",
    "year": "y yr yrs year years",
}
UNITS: dict[str, Unit] = {word: unit for unit, words in _SPELLINGS.items() for word in words.split()}
SECONDS: dict[Unit, int] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}

_SHORT = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)")
_BARE_MINUTES = re.compile(r"(?<=\dh)[0-5]?\d$")


class Length(NamedTuple):
    """So many of a unit: of seconds, where several units were added up. `end` is the place behind it."""

    number: Fraction
    unit: Unit
    end: int

    @property
    def seconds(self) -> Fraction | None:
        """The same in seconds; null for months and years, which differ."""
        return self.number * SECONDS[self.unit] if self.unit in SECONDS else None


def read_length(sentence: Sentence, at: int) -> Length | None:
    """The length that begins there, however many units it is told in."""
    first = _one(sentence, at)
    if first is None:
        return None
    if end := sentence.after(first.end, "and a half"):
        return Length(first.number + Fraction(1, 2), first.unit, end)
    if end := sentence.after(first.end, "and a quarter"):
        return Length(first.number + Fraction(1, 4), first.unit, end)
    total = first
    while (more := _one(sentence, sentence.skip(total.end, "and"))) is not None:
        if total.seconds is None or more.seconds is None or SECONDS[more.unit] >= SECONDS[first.unit]:
            break
        total = Length(total.seconds + more.seconds, "second", more.end)
    return total


def _one(sentence: Sentence, at: int) -> Length | None:
    if end := sentence.after(at, "half an hour", "a half hour", "half hour"):
        return Length(Fraction(30), "minute", end)
    if end := sentence.after(
        at, "a quarter of an hour", "quarter of an hour", "a quarter hour", "quarter hour"
    ):
        return Length(Fraction(15), "minute", end)
    if sentence.text(at) in {"a", "an", "one"} and sentence.text(at + 1) == "fortnight":
        return Length(Fraction(2), "week", at + 2)
    if sentence.text(at) in {"a", "an"} and (unit := _unit(sentence, at + 1)):
        return Length(Fraction(1), unit, at + 2)
    if short := _short(sentence, at):
        return short
    amount = read_amount(sentence, at)
    if amount is None:
        return None
    half = sentence.after(amount.end, "and a half")
    count, end = (amount.value + Fraction(1, 2), half) if half else (amount.value, amount.end)
    if sentence.text(end) in {"fortnights", "fortnight"}:
        return Length(count * 2, "week", end + 1)
    unit = _unit(sentence, sentence.skip(end, "-"))
    return Length(count, unit, sentence.skip(end, "-") + 1) if unit else None


def _short(sentence: Sentence, at: int) -> Length | None:
    """`30m`, `1h30m`, `1h30`."""
    text = _BARE_MINUTES.sub(r"\g<0>m", sentence.text(at))
    parts = _SHORT.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        return None
    units = [UNITS.get(unit) for _, unit in parts]
    if len(parts) == 1 and units[0]:
        return Length(Fraction(parts[0][0]), units[0], at + 1)
    seconds = Fraction(0)
    for (count, _), unit in zip(parts, units, strict=True):
        if unit is None or unit not in SECONDS:
            return None
        seconds += Fraction(count) * SECONDS[unit]
    return Length(seconds, "second", at + 1)


def _unit(sentence: Sentence, at: int) -> Unit | None:
    word = sentence.text(at)
    return UNITS.get(word) if len(word) > 1 or sentence.text(at - 1).isdigit() else None


def unit_at(sentence: Sentence, at: int) -> Unit | None:
    """The unit that is spelt out there."""
    word = sentence.text(at)
    return UNITS.get(word) if len(word) > 2 or word == "hr" else None
