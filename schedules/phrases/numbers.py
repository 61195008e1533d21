"""Numbers in words and digits: `5`, `five`, `twenty-five`, `1.5`; ordinals: `3rd`, `third`, `last`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from schedules.phrases.tokens import Sentence
from schedules.timing.values import LAST

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
CARDINALS = {word: number for number, word in enumerate(_ONES)}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_ORDINAL_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth",
)  # fmt: skip
ORDINALS = {word: number for number, word in enumerate(_ORDINAL_WORDS, 1)} | {"thirtieth": 30}


class Whole(NamedTuple):
    """A whole number, and the place behind it."""

    value: int
    end: int


class Amount(NamedTuple):
    """A number that may have a fraction, and the place behind it."""

    value: Fraction
    end: int


def read_amount(sentence: Sentence, at: int) -> Amount | None:
    """`5`, `1.5`, `five`, `twenty-five`."""
    text = sentence.text(at)
    if sentence.kind(at) == "number":
        return Amount(Fraction(text.replace(",", ".")), at + 1) if _is_decimal(text) else None
    found = read_cardinal(sentence, at)
    return Amount(Fraction(found.value), found.end) if found else None


def read_whole(sentence: Sentence, at: int) -> Whole | None:
    """`5`, `five`, `twenty-five`."""
    if sentence.kind(at) == "number":
        return Whole(int(sentence.text(at)), at + 1) if sentence.text(at).isdigit() else None
    return read_cardinal(sentence, at)


def read_cardinal(sentence: Sentence, at: int) -> Whole | None:
    """`five`, `twenty-five`: a number in words."""
    word = sentence.text(at)
    if word in CARDINALS:
        return Whole(CARDINALS[word], at + 1)
    if word not in TENS:
        return None
    behind = sentence.skip(at + 1, "-")
    ones = CARDINALS.get(sentence.text(behind), 0)
    return Whole(TENS[word] + ones, behind + 1) if 1 <= ones <= 9 else Whole(TENS[word], at + 1)


def read_ordinal(sentence: Sentence, at: int) -> Whole | None:
    """`3rd`, `third`, `twenty-third`; `last` is `LAST`."""
    word = sentence.text(at)
    if word == "last":
        return Whole(LAST, at + 1)
    if word in ORDINALS:
        return Whole(ORDINALS[word], at + 1)
    if matched := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)", word):
        return Whole(int(matched[1]), at + 1)
    if word in TENS:
        behind = sentence.skip(at + 1, "-")
        ones = ORDINALS.get(sentence.text(behind), 0)
        return Whole(TENS[word] + ones, behind + 1) if 1 <= ones <= 9 else None
    return None


def _is_decimal(text: str) -> bool:
    return re.fullmatch(r"\d{1,9}(?:[.,]\d{1,2})?", text) is not None
