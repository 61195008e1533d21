"""Days of a month: `on the 1st and 15th`, `the last Friday of every month`, `day 5 of each month`."""

from __future__ import annotations

from schedules.phrases.dates import months_of
from schedules.phrases.draft import MonthRule, TimingDraft
from schedules.phrases.outcome import ambiguous, impossible, unknown
from schedules.phrases.rules import PhraseRule
from schedules.phrases.tokens import Phrase
from schedules.phrases.weekdays import day_names
from schedules.timing.values import LAST, WORKDAYS

ENDS: dict[str, dict[int, tuple[int, ...]]] = {
    "quarter": {1: (1, 4, 7, 10), LAST: (3, 6, 9, 12)},
    "year": {1: (1,), LAST: (12,)},
}
"""The months in which such a period begins, and in which it ends."""

_LEAD = "[lead=(on | at | every | each)] [again=(every | each)] [the]"
_OF_MONTHS = (
    "[each=(every | each) | the month of] <months=months>"
    " | unclear=((this | next | the current | the following | the next) month)"
    " | (the month | every month | each month | month | any month | the months)"
    " | (each_period=(every | each) | the | a) period=(quarter | year)"
)
_OF = (
    "(each month | every month | monthly | a month | per month"
    " | [of | in] (every | each) (<skip=other> | count=(<whole> | <ordinal>)) (month | months)"
    f" | (of | in) ({_OF_MONTHS}))"
)
_NUMBERED = f"{_LEAD} (day | days) <numbers=wholes> {_OF}"
_FROM_THE_END = (
    f"{_LEAD} (<number=ordinal> ([-] to [-] last) | second last | next to last | penultimate)"
    f" [plain=(day | calendar day) | <days=days>] [of={_OF}]"
)
_ORDINAL = f"{_LEAD} <ordinals=ordinals> [plain=(day | days | calendar day) | <days=days>] [of={_OF}]"


def _from_the_end(phrase: Phrase) -> TimingDraft | None:
    """`the second to last Friday of every month`. Raises `Refusal`."""
    number = phrase.number("number") if phrase.has("number") else 2
    if not 2 <= number <= 5:
        raise unknown("Days are counted from the end of a month up to the fifth.", "the 3rd to last Friday")
    if phrase.has("days"):
        return _month_rule(phrase, (-number,), _counted_weekdays(phrase, [-number]))
    return _month_rule(phrase, (-number,), ()) if phrase.has("plain") else None


def _numbered(phrase: Phrase) -> TimingDraft | None:
    """`on day 5 of every month`."""
    return _month_rule(phrase, _days(phrase.numbers("numbers", "<whole>")), ())


def _ordinal(phrase: Phrase) -> TimingDraft | None:
    """`on the 1st and 15th`, `the last Friday of every month`."""
    numbers = phrase.numbers("ordinals", "<ordinal>")
    if phrase.has("days"):
        return _month_rule(phrase, tuple(sorted(set(numbers))), _counted_weekdays(phrase, numbers))
    if not phrase.has("plain") and (LAST in numbers or (not phrase.has("of") and _counts_noun(phrase))):
        return None
    return _month_rule(phrase, _days(numbers), ())


def _every_ordinal(phrase: Phrase) -> TimingDraft | None:
    """`every third Tuesday of the month`, but not `every third day`."""
    fragment = _ordinal(phrase) if _repeats(phrase) else None
    if fragment is None or fragment.month_rule is None or fragment.month_rule.every is None:
        return None
    numbers = phrase.numbers("ordinals", "<ordinal>")
    every_third_day = phrase.text("plain") in {"day", "days"} and len(numbers) == 1 and numbers[0] > 1
    return None if every_third_day else fragment


def _every_ordinal_alone(phrase: Phrase) -> TimingDraft | None:
    """`every 15th`, which may be of a month that is named elsewhere."""
    alone = _repeats(phrase) and not phrase.text("ordinals").startswith("second")
    return _ordinal(phrase) if alone else None


def _repeats(phrase: Phrase) -> bool:
    return phrase.has("again") or phrase.text("lead") in {"every", "each"}


def _month_rule(phrase: Phrase, numbers: tuple[int, ...], weekdays: tuple[int, ...]) -> TimingDraft | None:
    """The rule for these days, of the months that the phrase names. Raises `Refusal`."""
    repeats = _repeats(phrase)
    if phrase.has("unclear"):
        raise unknown(
            f"{phrase.text('unclear')!r} is not understood as a date.",
            "Name the date, such as 2026-12-24, or 'of every month'.",
        )
    if phrase.has("period"):
        months, yearly = _of_period(phrase, numbers), phrase.has("each_period")
        yearly = yearly or repeats or phrase.text("period") == "quarter"
        return TimingDraft(month_rule=MonthRule(numbers, weekdays, 1, months, yearly))
    if phrase.has("skip") or phrase.has("count"):
        every = 2 if phrase.has("skip") else phrase.number("count")
        return (
            TimingDraft(month_rule=MonthRule(numbers, weekdays, every, (), repeats))
            if 1 <= every <= 12
            else None
        )
    if phrase.has("months"):
        months, yearly = months_of(phrase, "months"), repeats or phrase.has("each")
        return TimingDraft(month_rule=MonthRule(numbers, weekdays, 1, months, yearly))
    if phrase.has("of") or phrase.has("numbers"):
        return TimingDraft(month_rule=MonthRule(numbers, weekdays, 1, (), repeats))
    if phrase.text("lead") not in {"on", "every", "each"}:
        return None
    each = repeats and bool(weekdays) and (set(numbers) <= {1, LAST} or len(numbers) > 1)
    return TimingDraft(month_rule=MonthRule(numbers, weekdays, 1 if each else None))


def _counted_weekdays(phrase: Phrase, numbers: list[int]) -> tuple[int, ...]:
    """The weekdays that the ordinals count: one, or the working days. Raises `Refusal`."""
    weekdays = tuple(sorted(day_names(phrase, "days").weekdays))
    if len(weekdays) > 1 and weekdays != WORKDAYS:
        raise ambiguous(
            f"{phrase.text('days')!r} are several days.",
            "Name one weekday, such as 'the first Monday of every month'.",
        )
    if max(numbers) > 5 and len(weekdays) == 1:
        raise impossible(f"No month has a {max(numbers)}th of a weekday.", "the last Monday of every month")
    if max(numbers) > 23:
        raise impossible("No month has so many working days.", "the last weekday of every month")
    return weekdays


def _counts_noun(phrase: Phrase) -> bool:
    """Whether the ordinal belongs to the word after it: `the first page`."""
    goes_on = "at | and | every | each | monthly | starting | until | on | in | by"
    return phrase.sentence.kind(phrase.end) == "word" and not phrase.sentence.match(goes_on, phrase.end)


def _days(numbers: list[int]) -> tuple[int, ...]:
    for number in numbers:
        if number != LAST and not 1 <= number <= 31:
            raise impossible(f"No month has a day {number}.", "Days of a month are 1 to 31, or 'last day'.")
    return tuple(sorted(set(numbers)))


def _of_period(phrase: Phrase, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The months in which the quarter or the year begins or ends. Raises `Refusal`."""
    period = phrase.text("period")
    months = ENDS[period].get(numbers[0])
    if len(numbers) != 1 or months is None:
        raise unknown(
            f"Of a {period} only the first and the last day are understood.",
            "the 15th of every 3 months" if period == "quarter" else "every year on the 15th of January at 9",
        )
    return months


EVERY_RULES = (PhraseRule(_ORDINAL, _every_ordinal),)
EVERY_BARE_RULES = (PhraseRule(_ORDINAL, _every_ordinal_alone),)
RULES = (
    PhraseRule(_FROM_THE_END, _from_the_end),
    PhraseRule(_NUMBERED, _numbered),
    PhraseRule(_ORDINAL, _ordinal),
)
