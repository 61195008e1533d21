"""Lengths of time: `30m`, `2 hours`, `1h30m`, `half an hour`, `an hour and a half`, `two weeks`."""

from __future__ import annotations

import re
from fractions import Fraction

from schedules.phrases.draft import Length
from schedules.phrases.tokens import Forms, Phrase, ReadValue, Sentence, number_of, read_form
from schedules.phrases.vocabulary import SECONDS, UNITS

_SHORT = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)")
_BARE_MINUTES = re.compile(r"(?<=\dh)[0-5]?\d$")


def read_length(sentence: Sentence, at: int) -> ReadValue[Length] | None:
    """The length that begins there, in however many units it is given."""
    first = read_form(_FORMS, sentence, at)
    if first is None:
        return None
    number, unit = first.value
    for words, more in (("and a half", Fraction(1, 2)), ("and a quarter", Fraction(1, 4))):
        if end := sentence.after(first.end, words):
            return ReadValue(Length(number + more, unit), end)
    total, end = first.value, first.end
    while (next_one := read_form(_FORMS, sentence, sentence.skip(end, "and"))) is not None:
        added = next_one.value
        if SECONDS.get(added.unit, 0) >= SECONDS.get(unit, 0) or added.unit not in SECONDS:
            break
        total, end = Length(total.seconds + added.seconds, "second"), next_one.end
    return ReadValue(total, end)


def _counted(phrase: Phrase) -> Length:
    """`2 hours`, `2 and a half hours`, `a week`, `two fortnights`."""
    half = Fraction(1, 2) if phrase.has("half") else 0
    amount = amount_of(phrase.text("amount")) if phrase.has("amount") else Fraction(1)
    if not phrase.has("unit"):
        return Length((amount + half) * 2, "week")
    return Length(amount + half, UNITS[phrase.text("unit")])


def _short(phrase: Phrase) -> Length | None:
    """`30m`, `1h30m`, `1h30`."""
    parts = _SHORT.findall(_BARE_MINUTES.sub(r"\g<0>m", phrase.text("short")))
    lengths = [Length(Fraction(number), UNITS[unit]) for number, unit in parts]
    if len(lengths) == 1:
        return lengths[0]
    if any(length.unit not in SECONDS for length in lengths):
        return None
    return Length(sum((length.seconds for length in lengths), Fraction(0)), "second")


def amount_of(text: str) -> Fraction:
    """The value of `5`, `1.5`, `five`, `twenty-five`."""
    return Fraction(text.replace(",", ".")) if text[0].isdigit() else Fraction(number_of(text))


_FORMS: Forms[Length] = {
    "half an hour | [a] half hour": lambda _: Length(Fraction(30), "minute"),
    "[a] quarter of an hour | [a] quarter hour": lambda _: Length(Fraction(15), "minute"),
    "(a | an) (<unit=unit_after_number> | fortnight)": _counted,
    "<short=short_length>": _short,
    "<amount=amount> [half=(and a half)] (fortnight | fortnights)": _counted,
    "<amount=amount> [half=(and a half)] [-] <unit=unit_after_number>": _counted,
    "<amount=digits> <unit=unit_letter>": _counted,
}
