"""How often: `every 30 minutes`, `every other day`, `daily`, `twice a day`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from schedules.phrases import dates, month_days, weekdays
from schedules.phrases.clock_times import MIDNIGHT, NOON
from schedules.phrases.draft import Length, OnDate, Part, TimingDraft, Vague
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import ambiguous
from schedules.phrases.rules import PhraseRule, TimingFragment, read_first
from schedules.phrases.tokens import Phrase
from schedules.phrases.vocabulary import PARTS, UNITS, Unit

DAY = Length(Fraction(1), "day")
QUARTERLY = "on the first day of every quarter at 9"


def every(unit: Unit, number: int = 1) -> TimingDraft:
    """Every so many of a unit."""
    return TimingDraft(step=Length(Fraction(number), unit))


ADVERBS = {
    "daily": every("day"),
    "everyday": every("day"),
    "hourly": every("hour"),
    "weekly": every("week"),
    "fortnightly": every("week", 2),
    "monthly": every("month"),
    "quarterly": TimingDraft(vague=Vague("quarterly", QUARTERLY)),
    "yearly": every("year"),
    "annually": every("year"),
    "nightly": TimingDraft(part=Part("night", repeats=True)),
}
UNCLEAR_ADVERBS = {
    "biweekly": "every 2 weeks on Monday at 9, or every Monday and Thursday at 9",
    "bimonthly": "every 2 months on the 1st at 9, or on the 1st and 15th of every month at 9",
    "biannually": "on the 1st of January and July, or every 2 years",
    "biyearly": "on the 1st of January and July, or every 2 years",
    "semiweekly": "every Monday and Thursday at 9",
    "semimonthly": "on the 1st and 15th of every month at 9",
}


def _every_unit(phrase: Phrase, number: int = 1) -> TimingDraft:
    return every(UNITS[phrase.text("unit")], number)


def _every_one(phrase: Phrase) -> TimingDraft | None:
    """`every day`; neither `every week day` nor `every day and a half`."""
    at = phrase.span("unit")[0]
    other = phrase.sentence.match("week [-] day | <unit> and a half", at)
    return None if other else _every_unit(phrase)


def _every_ordinal_unit(phrase: Phrase) -> TimingDraft | None:
    """`every second day`. Raises `Refusal` for `every second day of`."""
    number = phrase.number("ordinal")
    if number <= 1:
        return None
    if phrase.has("of"):
        raise ambiguous("That can be counted in two ways.", "every 3 days at 9, or on the 3rd of every month")
    return _every_unit(phrase, number)


def _every_ordinal_weekday(phrase: Phrase) -> TimingDraft:
    number = phrase.number("ordinal")
    word, day = phrase.raw("ordinal"), phrase.raw("days")
    raise ambiguous(
        f"Every {word} {day} may be every so many weeks, or one in each month.",
        f"Say 'every {number} weeks on {day}' or 'the {word} {day} of every month'.",
    )


def _every_date(phrase: Phrase) -> TimingFragment | None:
    """`every December 24`, `every year on the 24th of December`."""
    reading = read_first(dates.DATE_RULES, phrase.sentence, phrase.end)
    if reading is None or not isinstance(reading.draft.day, OnDate) or reading.draft.day.year is not None:
        return None
    return TimingFragment(TimingDraft(day=reading.draft.day._replace(yearly=True)), reading.end)


def _every_length(phrase: Phrase) -> TimingFragment | None:
    length = read_length(phrase.sentence, phrase.end)
    return TimingFragment(TimingDraft(step=length.value), length.end) if length else None


def _every_part(phrase: Phrase) -> TimingDraft:
    return TimingDraft(part=Part(PARTS[phrase.text("part")], repeats=True))


def _every_month_name(phrase: Phrase) -> TimingDraft:
    months = dates.months_of(phrase, "months")
    return TimingDraft(months=months, step=Length(Fraction(1), "year"))


def _adverb(phrase: Phrase) -> TimingDraft | None:
    """`daily`, `hourly`, `weekly`, where they are a timing. Raises `Refusal` for those with two meanings."""
    sentence, start, end = phrase.sentence, phrase.start, phrase.end
    leads_on = sentence.match("<after_adverb>", end) or sentence.kind(end) in {None, "clock", "iso", "mark"}
    describes = sentence.match("<adverb_owner>", start - 1) or sentence.text(end) in {"'", "/"}
    if describes or not (leads_on or sentence.match("<days>", end)):
        return None
    word = phrase.text("word").replace(" - ", "")
    if word in UNCLEAR_ADVERBS:
        raise ambiguous(f"{word!r} has two meanings.", f"Say {UNCLEAR_ADVERBS[word]}.")
    return ADVERBS.get(word)


def _runs(phrase: Phrase) -> TimingDraft:
    """`once a day`, `twice daily`, `3 times a week`."""
    simple = {"once": 1, "twice": 2, "thrice": 3}.get(phrase.text("simple"))
    count = simple or phrase.number("simple" if phrase.has("simple") else "count")
    step = ADVERBS[phrase.text("adverb")].step if phrase.has("adverb") else None
    unit = step.unit if step else UNITS[phrase.text("unit")]
    return TimingDraft(runs=Length(Fraction(count), unit))


RULES = (
    PhraseRule("<every> <other> <unit=unit>", partial(_every_unit, number=2)),
    PhraseRule("<every> <other> <days=days> [<part=part> | <parts=parts>]", weekdays.every_other_weekday),
    *month_days.EVERY_RULES,
    PhraseRule("<every> <ordinal=ordinal> <unit=unit> [of=(of)]", _every_ordinal_unit),
    PhraseRule("<every> <ordinal=ordinal> <days=days>", _every_ordinal_weekday),
    *month_days.EVERY_BARE_RULES,
    PhraseRule("<every> [year [on]]", _every_date),
    PhraseRule("<every>", _every_length),
    PhraseRule("<every> fortnight", every("week", 2)),
    PhraseRule("<every> hour and a half", every("minute", 90)),
    PhraseRule(
        "<every> <unit=unit> [of ((the | every) (week | day) | each day | every month | the year)]",
        _every_one,
    ),
    PhraseRule("<every> <part=part>", _every_part),
    PhraseRule("<every> (noon | midday)", TimingDraft(step=DAY, clocks=(NOON,))),
    PhraseRule("<every> midnight", TimingDraft(step=DAY, clocks=(MIDNIGHT,))),
    PhraseRule("<every> <days=days> [<part=part> | <parts=parts>]", weekdays.every_weekday),
    PhraseRule("<every> <months=months>", _every_month_name),
    PhraseRule("<every> quarter", TimingDraft(vague=Vague("every quarter", QUARTERLY))),
    PhraseRule("word=(" + " | ".join(ADVERBS) + ")", _adverb),
    PhraseRule("word=([bi | semi] [-] `(?:bi|semi)?(?:week|month|annual|year)ly`)", _adverb),
    PhraseRule(
        r"(simple=(once | twice | thrice | `\d{1,2}x`) | <count=whole> (times | x)) "
        "(adverb=(`daily|weekly|monthly|yearly|hourly`) | (a | an | per | each | every) <unit=unit>)",
        _runs,
    ),
)
