"""Weekdays: `every Monday`, `on Mondays`, `weekdays`, `Mon-Fri`, `every other Tuesday`, `except Sundays`."""

from __future__ import annotations

from typing import NamedTuple

from schedules.phrases.draft import ComingWeekday, Part, TimingDraft, Vague, Weekdays
from schedules.phrases.outcome import ambiguous
from schedules.phrases.rules import PhraseRule, TimingFragment
from schedules.phrases.tokens import Phrase
from schedules.phrases.vocabulary import FULL_DAYS, PARTS, PLURAL_DAYS, PLURAL_PARTS, SHORT_DAYS
from schedules.timing.values import WEEKEND, WORKDAYS

ONE_DATE = "one date and time, such as 'tomorrow at 9'"
DAYS = FULL_DAYS | PLURAL_DAYS | SHORT_DAYS


class DayNames(NamedTuple):
    """The weekdays that were named, how many they are, and how they were written."""

    weekdays: frozenset[int]
    plural: bool = False
    short: bool = False
    ranged: bool = False
    number: int = 1


def day_names(phrase: Phrase, slot: str) -> DayNames:
    """The weekdays in the slot: `Monday`, `Mon, Wed and Fri`, `Monday to Friday`, `weekdays and Sundays`."""
    ranges = [_day_range(text) for text in phrase.sentence.texts("<day_range>", *phrase.span(slot))]
    return DayNames(
        frozenset().union(*(days.weekdays for days in ranges)),
        any(days.plural for days in ranges),
        all(days.short for days in ranges),
        any(days.ranged for days in ranges),
        sum(days.number for days in ranges),
    )


def _day_range(text: str) -> DayNames:
    words = [word for word in text.split() if word != "."]
    if words[0] not in DAYS:
        weekend = "weekend" in words[0] or words[-1] in {"end", "ends"}
        return DayNames(frozenset(WEEKEND if weekend else WORKDAYS), plural=text.endswith("s"), number=2)
    first, last = DAYS[words[0]], DAYS[words[-1]]
    short = words[0] in SHORT_DAYS
    if len(words) == 1:
        return DayNames(frozenset([first]), plural=words[0] in PLURAL_DAYS, short=short)
    days = frozenset((first + number) % 7 for number in range((last - first) % 7 + 1))
    return DayNames(days, short=short, ranged=True, number=len(days))


def every_weekday(phrase: Phrase) -> TimingFragment:
    """`every Monday and Thursday`, `each weekday morning`."""
    return _with_part(phrase, day_names(phrase, "days")._replace(plural=True), firm=True)


def every_other_weekday(phrase: Phrase) -> TimingFragment:
    """`every other Tuesday`. Raises `Refusal` for `every other weekday`."""
    named = day_names(phrase, "days")
    if named.weekdays in (frozenset(WORKDAYS), frozenset(WEEKEND)):
        raise ambiguous("Every other of several days can be counted in two ways.", "every other day at 9")
    return _with_part(phrase, named, firm=True, every=2)


def _plain_weekdays(phrase: Phrase) -> TimingFragment | None:
    """`on Mondays`, `weekdays`, `Mon-Fri`, `Friday`."""
    named, prefix = day_names(phrase, "days"), phrase.text("prefix")
    parted = phrase.has("part") or phrase.has("parts")
    if prefix in {"on the", "at the", "at"} and not phrase.text("days").startswith("weekends"):
        return None
    if prefix in {"from", "all"} and not (named.ranged or named.plural):
        return None
    first = phrase.text("days").split()[0]
    if first not in DAYS and not first.endswith("ends") and not (named.plural or named.ranged or parted):
        return None  # `weekday` alone is a noun
    if named.short and named.number == 1 and not _is_short_day(phrase):
        return None
    return _with_part(phrase, named, firm=prefix not in {"", "at", "at the"} or named.plural or named.ranged)


def _next_week(phrase: Phrase) -> TimingDraft | None:
    """`Friday next week`."""
    named = day_names(phrase, "days")
    if named.short and not _is_short_day(phrase):
        return None
    if named.number > 1:
        return TimingDraft(vague=Vague("next week", ONE_DATE))
    (weekday,) = named.weekdays
    return TimingDraft(day=ComingWeekday(weekday, "next week"))


def _with_part(phrase: Phrase, named: DayNames, *, firm: bool, every: int = 1) -> TimingFragment:
    """The weekdays, with the part of the day after them."""
    part = PARTS.get(phrase.text("part")) or PLURAL_PARTS.get(phrase.text("parts"))
    repeats = named.plural or named.ranged or every > 1 or (named.short and named.number > 1)
    repeats = repeats or phrase.has("parts")
    sure = True if repeats else None if named.number > 1 else False
    weekdays = Weekdays(named.weekdays, sure, every)
    return TimingFragment(TimingDraft(weekdays=weekdays, part=Part(part) if part else None), phrase.end, firm)


def _is_short_day(phrase: Phrase) -> bool:
    """Whether `sun`, `sat` or `wed` is the weekday: with a capital before a time, or after `on`."""
    sentence, at = phrase.sentence, phrase.span("days")[0]
    before_time = sentence.kind(at + 1) == "clock" or sentence.match("at | @ | <part> | <parts>", at + 1)
    return phrase.has("prefix") or (before_time is not None and (sentence.is_capital(at) or at == 0))


def _weekend(phrase: Phrase) -> TimingDraft:
    return TimingDraft(vague=Vague(phrase.shown, "every Saturday and Sunday at 10, or tomorrow at 10"))


def _except(phrase: Phrase) -> TimingDraft:
    return TimingDraft(exception=day_names(phrase, "days").weekdays)


EXCEPTIONS = (
    PhraseRule(
        "(except for | except on | except | excluding | but not on | but not | not on | but | other than) "
        "[on | for | the | every] <days=days>",
        _except,
        after_timing=True,
    ),
)
RULES = (
    PhraseRule("(on | at | over) the weekend | (this | next) weekend", _weekend, firm=False),
    PhraseRule("[<prefix=weekday_prefix>] <days=days> [of] next week", _next_week),
    PhraseRule("[<prefix=weekday_prefix>] <days=days> [<part=part> | <parts=parts>]", _plain_weekdays),
)
