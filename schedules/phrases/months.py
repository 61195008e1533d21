"""Days of a month: `on the 1st and 15th`, `the last Friday of every month`, `day 5 of each month`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from schedules.phrases.numbers import read_ordinal, read_whole
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Found, MonthRule
from schedules.phrases.tokens import Sentence
from schedules.phrases.words import read_day_names, read_month_names
from schedules.timing.values import LAST, WORKDAYS

Period = Literal["quarter", "year"]
"""What is longer than a month, and has a first and a last day too."""

ENDS: dict[Period, dict[int, tuple[int, ...]]] = {
    "quarter": {1: (1, 4, 7, 10), LAST: (3, 6, 9, 12)},
    "year": {1: (1,), LAST: (12,)},
}
"""The months in which such a period begins, and in which it ends."""


class _Which(NamedTuple):
    """Ordinals, or numbers of days; `target` says which of both: weekdays, or none for plain days."""

    numbers: tuple[int, ...]
    target: tuple[int, ...]
    end: int


class _Of(NamedTuple):
    """Of which months."""

    every: int
    months: tuple[int, ...]
    end: int
    period: Period | None = None
    yearly: bool = False


def read_month_rule(sentence: Sentence, at: int) -> Found | None:
    """The days of a month that are named there, be it without saying of which. Raises `Refusal`."""
    begin = sentence.skip(at, "on", "at", "every", "each")
    prefixed = begin > at and sentence.text(at) != "at"
    repeats = sentence.text(at) in {"every", "each"}
    begin = sentence.skip(begin, "every", "each")
    repeats = repeats or sentence.text(begin - 1) in {"every", "each"}
    which = _which(sentence, sentence.skip(begin, "the"))
    if which is None:
        return None
    of = _of(sentence, which.end)
    if of is None:
        return _unsaid(which, firm=prefixed, repeats=repeats)
    if of.period is not None:
        return Found((_of_period(which, of, of.period, repeats=repeats),), of.end)
    rule = MonthRule(which.numbers, which.target, of.every, of.months, yearly=repeats or of.yearly)
    return Found((rule,), of.end)


def _unsaid(which: _Which, *, firm: bool, repeats: bool) -> Found | None:
    """The days where the months are not told: elsewhere in the sentence, or not at all."""
    if not firm:
        return None
    sure = repeats and which.target and (set(which.numbers) <= {1, LAST} or len(which.numbers) > 1)
    return Found((MonthRule(which.numbers, which.target, 1 if sure else None),), which.end)


def _which(sentence: Sentence, at: int) -> _Which | None:
    if sentence.after(
        at, "second to last", "second last", "next to last", "penultimate", "second - to - last"
    ):
        raise Refusal(
            "unknown", "Days are counted from the end of a month only as 'last'.", "the last day of the month"
        )
    if behind := sentence.after(at, "day", "days"):
        return _numbered(sentence, behind)
    numbers: list[int] = []
    while (ordinal := read_ordinal(sentence, at)) is not None:
        numbers.append(ordinal.value)
        behind = sentence.skip(
            ordinal.end, ", and the", ", and", ", the", ",", "and the", "and on the", "and", "& the", "&"
        )
        if behind == ordinal.end or read_ordinal(sentence, behind) is None:
            return _targeted(sentence, tuple(numbers), ordinal.end)
        at = behind
    return None


def _numbered(sentence: Sentence, at: int) -> _Which | None:
    numbers: list[int] = []
    while (number := read_whole(sentence, at)) is not None:
        numbers.append(number.value)
        at = sentence.skip(number.end, ", and", ",", "and", "&")
        if at == number.end or read_whole(sentence, at) is None:
            return _Which(_days(numbers), (), number.end) if _of(sentence, number.end) else None
    return None


def _targeted(sentence: Sentence, numbers: tuple[int, ...], end: int) -> _Which | None:
    """What the ordinals count: days, working days, Mondays; or nothing, where they are days by number."""
    if behind := sentence.after(end, "day", "days", "calendar day"):
        return _Which(_days(list(numbers)), (), behind)
    named = read_day_names(sentence, end)
    if named is None:
        if LAST in numbers or (
            _of(sentence, end) is None and sentence.kind(end) == "word" and _is_noun(sentence, end)
        ):
            return None
        return _Which(_days(list(numbers)), (), end)
    weekdays = tuple(sorted(named.weekdays))
    if len(weekdays) > 1 and weekdays != WORKDAYS:
        raise Refusal(
            "ambiguous",
            f"{sentence.shown(end, named.end)!r} are several days.",
            "Name one weekday, such as 'the first Monday of every month'.",
        )
    if any(number > 5 for number in numbers) and len(weekdays) == 1:
        raise Refusal(
            "impossible", f"No month has a {max(numbers)}th of a weekday.", "the last Monday of every month"
        )
    if any(number > 23 for number in numbers):
        raise Refusal("impossible", "No month has so many working days.", "the last weekday of every month")
    return _Which(tuple(sorted(set(numbers))), weekdays, named.end)


def _is_noun(sentence: Sentence, at: int) -> bool:
    """Whether the ordinal belongs to the word there: `the first page`."""
    return sentence.text(at) not in {
        "at",
        "and",
        "every",
        "each",
        "monthly",
        "starting",
        "until",
        "on",
        "in",
        "by",
    }


def _days(numbers: list[int]) -> tuple[int, ...]:
    for number in numbers:
        if number != LAST and not 1 <= number <= 31:
            raise Refusal(
                "impossible", f"No month has a day {number}.", "Days of a month are 1 to 31, or 'last day'."
            )
    return tuple(sorted(set(numbers)))


def _of(sentence: Sentence, at: int) -> _Of | None:
    if end := sentence.after(at, "of", "in"):
        return _named(sentence, end)
    if end := sentence.after(at, "each month", "every month", "monthly", "a month", "per month"):
        return _Of(1, (), end)
    return _counted(sentence, at)


def _named(sentence: Sentence, at: int) -> _Of | None:
    if named := read_month_names(sentence, sentence.skip(at, "every", "each", "the month of")):
        return _Of(1, named.months, named.end, yearly=sentence.text(at) in {"every", "each"})
    if sentence.after(
        at, "this month", "next month", "the current month", "the following month", "the next month"
    ):
        raise Refusal(
            "unknown",
            f"{sentence.shown(at, at + 2)!r} is not understood as a date.",
            "Name the date, such as 2026-12-24, or 'of every month'.",
        )
    if end := sentence.after(
        at, "the month", "every month", "each month", "month", "any month", "the months"
    ):
        return _Of(1, (), end)
    if end := sentence.after(at, "the quarter", "every quarter", "each quarter", "a quarter"):
        return _Of(1, (), end, "quarter", yearly=True)
    if end := sentence.after(at, "every year", "each year"):
        return _Of(1, (), end, "year", yearly=True)
    if end := sentence.after(at, "the year"):
        return _Of(1, (), end, "year")
    return _counted(sentence, at)


def _counted(sentence: Sentence, at: int) -> _Of | None:
    """`every 3 months`, `every other month`."""
    begin = sentence.after(at, "every", "each")
    if begin is None:
        return None
    if end := sentence.after(begin, "other month", "second month", "alternate month"):
        return _Of(2, (), end)
    count = read_whole(sentence, begin) or read_ordinal(sentence, begin)
    if count is None or sentence.text(count.end) not in {"month", "months"} or not 1 <= count.value <= 12:
        return None
    return _Of(count.value, (), count.end + 1)


def _of_period(which: _Which, of: _Of, period: Period, *, repeats: bool) -> MonthRule:
    months = ENDS[period].get(which.numbers[0])
    if len(which.numbers) != 1 or months is None:
        raise Refusal(
            "unknown",
            f"Of a {period} only the first and the last day are understood.",
            "the 15th of every 3 months" if period == "quarter" else "every year on the 15th of January at 9",
        )
    return MonthRule(which.numbers, which.target, of.every, months, yearly=repeats or of.yearly)
