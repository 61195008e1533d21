"""What comes again: `every 30 minutes`, `every other Tuesday`, `weekdays`, `except Sundays`."""

from __future__ import annotations

from fractions import Fraction

from schedules.phrases.clocks import Reading
from schedules.phrases.dates import read_date
from schedules.phrases.durations import read_length, unit_at
from schedules.phrases.months import read_month_rule
from schedules.phrases.numbers import read_ordinal
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import (
    Clocks,
    ComingWeekday,
    Except,
    Found,
    Months,
    OnDate,
    Part,
    Piece,
    Step,
    Vague,
    Weekdays,
)
from schedules.phrases.tokens import Sentence
from schedules.phrases.words import (
    PARTS,
    PLURAL_PARTS,
    DayNames,
    month_at,
    read_day_names,
    read_month_names,
)
from schedules.timing.values import WEEKEND, WORKDAYS


def read_every(sentence: Sentence, at: int) -> Found | None:
    """What begins with `every` or `each`. Raises `Refusal`."""
    begin = sentence.after(
        at,
        "each and every",
        "once every",
        "once each",
        "on every",
        "on each",
        "every single",
        "every",
        "each",
    )
    if begin is None:
        return None
    if end := sentence.after(begin, "other", "alternate", "alternating"):
        return _every_other(sentence, end)
    if counted := _every_ordinal(sentence, at, begin):
        return counted
    yearly = read_date(sentence, sentence.skip(begin, "year on", "year on the", "year"))
    if yearly and isinstance(yearly.pieces[0], OnDate) and yearly.pieces[0].year is None:
        return Found((yearly.pieces[0]._replace(yearly=True),), yearly.end)
    return _every_length(sentence, begin) or _every_named(sentence, begin)


def read_weekdays(sentence: Sentence, at: int) -> Found | None:
    """`on Mondays`, `weekdays`, `Mon-Fri`, `Friday`. Raises `Refusal`."""
    prefixed = sentence.after(at, "on all", "on", "from", "all")
    begin = at if prefixed is None else prefixed
    if end := sentence.after(
        at, "on the weekend", "at the weekend", "over the weekend", "this weekend", "next weekend"
    ):
        return Found(
            (Vague(sentence.shown(at, end), "every Saturday and Sunday at 10, or tomorrow at 10"),),
            end,
            False,
        )
    if sentence.after(at, "at weekends", "on the weekends", "at the weekends"):
        begin = sentence.skip(at + 1, "the")
    named = read_day_names(sentence, begin)
    if named is None or (sentence.text(at) in {"from", "all"} and not (named.ranged or named.plural)):
        return None
    group = sentence.text(begin) in {"weekday", "workday", "weekend", "working", "work", "business", "week"}
    if group and not (named.plural or named.ranged or _is_part(sentence, named.end)):
        return None  # `weekday` alone is a noun
    if (
        named.short
        and named.number == 1
        and not _is_short_day(sentence, begin, prefixed=prefixed is not None)
    ):
        return None
    if end := sentence.after(named.end, "next week", "of next week"):
        return _next_week(named, end)
    return _with_part(sentence, named, firm=prefixed is not None or named.plural or named.ranged)


def read_except(sentence: Sentence, at: int) -> Found | None:
    """`except Sundays`, `but not on weekends`."""
    begin = sentence.after(
        at,
        "except for",
        "except on",
        "except",
        "excluding",
        "but not on",
        "but not",
        "not on",
        "but",
        "other than",
    )
    if begin is None:
        return None
    named = read_day_names(sentence, sentence.skip(begin, "on", "for", "the", "every"))
    return Found((Except(named.weekdays),), named.end) if named else None


def _every_other(sentence: Sentence, at: int) -> Found | None:
    if unit := unit_at(sentence, at):
        return Found((Step(Fraction(2), unit),), at + 1)
    named = read_day_names(sentence, at)
    if named is None:
        return None
    if named.weekdays in (frozenset(WORKDAYS), frozenset(WEEKEND)):
        raise Refusal(
            "ambiguous", "Every other of several days can be counted in two ways.", "every other day at 9"
        )
    return _with_part(sentence, named, firm=True, every=2)


def _every_ordinal(sentence: Sentence, at: int, begin: int) -> Found | None:
    """`every second day`, `every third Tuesday of the month`, `every 15th of the month`."""
    ordinal = read_ordinal(sentence, begin)
    if ordinal is None:
        return None
    if (rule := read_month_rule(sentence, at)) and not isinstance(rule.pieces[0], Vague):
        unit = unit_at(sentence, ordinal.end)
        told = getattr(rule.pieces[0], "every", None) is not None
        if told and not (unit == "day" and ordinal.value > 1):
            return rule
    if (unit := unit_at(sentence, ordinal.end)) and ordinal.value > 1:
        if sentence.after(ordinal.end + 1, "of"):
            raise Refusal(
                "ambiguous",
                "That can be counted in two ways.",
                "every 3 days at 9, or on the 3rd of every month",
            )
        return Found((Step(Fraction(ordinal.value), unit),), ordinal.end + 1)
    named = read_day_names(sentence, ordinal.end)
    if named:
        word, day = sentence.shown(begin, ordinal.end), sentence.shown(ordinal.end, named.end)
        raise Refusal(
            "ambiguous",
            f"Every {word} {day} may be every so many weeks, or one in each month.",
            f"Say 'every {ordinal.value} weeks on {day}' or 'the {word} {day} of every month'.",
        )
    if sentence.text(begin) != "second":
        return read_month_rule(sentence, at)
    return None


def _every_length(sentence: Sentence, at: int) -> Found | None:
    length = read_length(sentence, at)
    if length is not None:
        return Found((Step(length.number, length.unit),), length.end)
    if end := sentence.after(at, "fortnight"):
        return Found((Step(Fraction(2), "week"),), end)
    unit = unit_at(sentence, at)
    if unit is None or sentence.after(at, "week day", "week - day"):
        return None
    if end := sentence.after(at, "hour and a half"):
        return Found((Step(Fraction(90), "minute"),), end)
    if sentence.after(at + 1, "and a half"):
        return None
    end = sentence.skip(
        at + 1,
        "of the week",
        "of every week",
        "of every day",
        "of the day",
        "of each day",
        "of every month",
        "of the year",
    )
    return Found((Step(Fraction(1), unit),), end)


def _every_named(sentence: Sentence, at: int) -> Found | None:
    word = sentence.text(at)
    if word in PARTS:
        return Found((Part(PARTS[word], repeats=True),), at + 1)
    if word in {"noon", "midday", "midnight"}:
        reading = Reading(
            0 if word == "midnight" else 12, 0, "exact", "midnight" if word == "midnight" else ""
        )
        return Found((Step(Fraction(1), "day"), Clocks((reading,))), at + 1)
    if named := read_day_names(sentence, at):
        return _with_part(sentence, named._replace(plural=True), firm=True)
    if month_at(sentence, at) is not None and (months := read_month_names(sentence, at)):
        return Found((Months(months.months), Step(Fraction(1), "year")), months.end)
    if word == "quarter":
        return Found((Vague("every quarter", "on the first day of every quarter at 9"),), at + 1)
    return None


def _with_part(sentence: Sentence, named: DayNames, *, firm: bool, every: int = 1) -> Found:
    """The weekdays, with `mornings` or `morning` behind them."""
    word = sentence.text(named.end)
    repeats = named.plural or named.ranged or every > 1 or (named.short and named.number > 1)
    pieces: tuple[Piece, ...] = ()
    end = named.end
    if word in PARTS or word in PLURAL_PARTS:
        pieces, end = (Part(PARTS.get(word) or PLURAL_PARTS[word], repeats=False),), end + 1
        repeats = repeats or word in PLURAL_PARTS
    sure: bool | None = True if repeats else None if named.number > 1 else False
    return Found((Weekdays(named.weekdays, sure, every), *pieces), end, firm)


def _next_week(named: DayNames, end: int) -> Found:
    if len(named.weekdays) > 1:
        return Found((Vague("next week", "one date and time, such as 'tomorrow at 9'"),), end)
    (weekday,) = named.weekdays
    return Found((ComingWeekday(weekday, "next week"),), end)


def _is_short_day(sentence: Sentence, at: int, *, prefixed: bool) -> bool:
    """Whether `sun`, `sat` or `wed` is the weekday: with a capital, behind `on` or before a time."""
    before_time = sentence.kind(at + 1) == "clock" or sentence.text(at + 1) in {
        "at",
        "@",
        *PARTS,
        *PLURAL_PARTS,
    }
    return prefixed or (before_time and sentence.raw(at)[:1].isupper()) or (before_time and at == 0)


def _is_part(sentence: Sentence, at: int) -> bool:
    return sentence.text(at) in PARTS or sentence.text(at) in PLURAL_PARTS
