"""Weekdays, months and parts of the day: which words name them, alone and in lists."""

from __future__ import annotations

from typing import NamedTuple

from schedules.phrases.clocks import DayPart
from schedules.phrases.numbers import read_ordinal, read_whole
from schedules.phrases.tokens import Sentence, word_set
from schedules.timing.names import MONTHS, WEEKDAYS
from schedules.timing.values import WEEKEND, WORKDAYS

_SHORT_DAYS = (
    ("mon",),
    ("tue", "tues"),
    ("wed", "weds"),
    ("thu", "thur", "thurs"),
    ("fri",),
    ("sat",),
    ("sun",),
)

FULL_DAYS = {name.lower(): number for number, name in enumerate(WEEKDAYS)}
PLURAL_DAYS = {f"{name}s": number for name, number in FULL_DAYS.items()}
SHORT_DAYS = {name: number for number, names in enumerate(_SHORT_DAYS) for name in names}
GROUPS = {
    "weekday": WORKDAYS,
    "workday": WORKDAYS,
    "weekend": WEEKEND,
    "weekdays": WORKDAYS,
    "workdays": WORKDAYS,
    "weekends": WEEKEND,
}
MONTH_NUMBERS = (
    {name.lower(): number for number, name in enumerate(MONTHS, 1)}
    | {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
    | {"sept": 9}
)
PARTS: dict[str, DayPart] = {
    "morning": "morning",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "night",
}
ABOUT = word_set("about around approximately roughly circa approx nearly almost")
EXACTLY = ("exactly", "precisely", "promptly")
REMINDERS = word_set("reminder alarm timer task job alert it them me this that run")
"""Words behind which `for` says when."""

PLURAL_PARTS: dict[str, DayPart] = {f"{word}s": part for word, part in PARTS.items()}


class DayNames(NamedTuple):
    """Weekdays that were named. `plural` or `short` or a `range`: none of them can be a single day."""

    weekdays: frozenset[int]
    end: int
    plural: bool = False
    short: bool = False
    ranged: bool = False
    number: int = 1


class MonthNames(NamedTuple):
    """Months that were named, ascending, and the place behind them."""

    months: tuple[int, ...]
    end: int


def read_day_names(sentence: Sentence, at: int) -> DayNames | None:
    """`Monday`, `Mondays and Thursdays`, `Mon, Wed and Fri`, `Monday to Friday`, `weekdays and Sundays`."""
    total = _day_range(sentence, at)
    while total is not None:
        behind = sentence.skip(total.end, ", and", ",", "and", "&", "/", "+")
        more = None
        if behind > total.end:
            more = _day_range(sentence, sentence.skip(behind, "on", "every", "each"))
        if more is None:
            break
        total = DayNames(
            total.weekdays | more.weekdays,
            more.end,
            total.plural or more.plural,
            total.short and more.short,
            total.ranged or more.ranged,
            total.number + more.number,
        )
    return total


def read_month_names(sentence: Sentence, at: int) -> MonthNames | None:
    """`June`, `June and July`, `Jan, Apr and Jul`."""
    months: list[int] = []
    while (month := month_at(sentence, at)) is not None:
        months.append(month)
        end = sentence.skip(at + 1, ".") if len(sentence.text(at)) == 3 else at + 1
        at = sentence.skip(end, ", and", ",", "and", "&", "/")
        if at == end or month_at(sentence, at) is None:
            return MonthNames(tuple(sorted(set(months))), end)
    return None


def month_at(sentence: Sentence, at: int) -> int | None:
    """The month that is named there; `may` and `march` only with a capital, or beside a day."""
    word = sentence.text(at)
    if word in {"may", "march", "mar"} and not sentence.raw(at)[:1].isupper():
        near = (
            read_ordinal(sentence, at + 1) or read_whole(sentence, at + 1) or sentence.text(at - 1).isdigit()
        )
        return MONTH_NUMBERS[word] if near or sentence.text(at - 1) in {"in", "of", "every"} else None
    return MONTH_NUMBERS.get(word)


def _day_range(sentence: Sentence, at: int) -> DayNames | None:
    first = _one_day(sentence, at)
    if first is None:
        return None
    behind = sentence.skip(first.end, "to", "through", "thru", "until", "till", "-")
    last = _one_day(sentence, behind) if behind > first.end and len(first.weekdays) == 1 else None
    if last is None or len(last.weekdays) != 1:
        return first
    (begin,), (end,) = first.weekdays, last.weekdays
    days = frozenset((begin + number) % 7 for number in range((end - begin) % 7 + 1))
    return DayNames(days, last.end, short=first.short, ranged=True, number=len(days))


def _one_day(sentence: Sentence, at: int) -> DayNames | None:
    word = sentence.text(at)
    if word in FULL_DAYS or word in PLURAL_DAYS:
        number = FULL_DAYS.get(word, PLURAL_DAYS.get(word, 0))
        return DayNames(frozenset([number]), at + 1, plural=word in PLURAL_DAYS)
    if word in SHORT_DAYS:
        return DayNames(frozenset([SHORT_DAYS[word]]), sentence.skip(at + 1, "."), short=True)
    if word in GROUPS:
        return DayNames(frozenset(GROUPS[word]), at + 1, plural=word.endswith("s"), number=2)
    if word in {"week", "working", "work", "business"} and sentence.text(at + 1) in {"day", "days"}:
        return DayNames(frozenset(WORKDAYS), at + 2, plural=sentence.text(at + 1) == "days", number=2)
    if word == "week" and sentence.after(at + 1, "- day", "- days"):
        return DayNames(frozenset(WORKDAYS), at + 3, plural=sentence.text(at + 2) == "days", number=2)
    if word == "week" and sentence.after(at + 1, "- end", "- ends"):
        return DayNames(frozenset(WEEKEND), at + 3, plural=sentence.text(at + 2) == "ends", number=2)
    return None
