"""Words that say how often by themselves: `daily`, `hourly`, `twice a day`."""

from __future__ import annotations

import re
from fractions import Fraction

from schedules.phrases.durations import unit_at
from schedules.phrases.numbers import read_whole
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import (
    Found,
    Part,
    Piece,
    Step,
    Times,
    Vague,
)
from schedules.phrases.tokens import Sentence, word_set
from schedules.phrases.words import (
    read_day_names,
)

ADVERBS: dict[str, tuple[Piece, ...]] = {
    "daily": (Step(Fraction(1), "day"),),
    "everyday": (Step(Fraction(1), "day"),),
    "hourly": (Step(Fraction(1), "hour"),),
    "weekly": (Step(Fraction(1), "week"),),
    "fortnightly": (Step(Fraction(2), "week"),),
    "monthly": (Step(Fraction(1), "month"),),
    "quarterly": (Vague("quarterly", "on the first day of every quarter at 9"),),
    "yearly": (Step(Fraction(1), "year"),),
    "annually": (Step(Fraction(1), "year"),),
    "nightly": (Part("night", repeats=True),),
}
UNCLEAR_ADVERBS = {
    "biweekly": "every 2 weeks on Monday at 9, or every Monday and Thursday at 9",
    "bimonthly": "every 2 months on the 1st at 9, or on the 1st and 15th of every month at 9",
    "biannually": "on the 1st of January and July, or every 2 years",
    "biyearly": "on the 1st of January and July, or every 2 years",
    "semiweekly": "every Monday and Thursday at 9",
    "semimonthly": "on the 1st and 15th of every month at 9",
}
DETERMINERS = word_set(
    "the a an my our your his her their its this that these those some any no last past previous 's"
)
FOLLOWING = word_set(
    "at on from between starting beginning in until till except and @ during every to please then - "
    "starts noon midnight"
)
"""Words behind which an adverb such as `daily` says when; before any other word it describes it."""


def read_adverb(sentence: Sentence, at: int) -> Found | None:
    """`daily`, `hourly`, `weekly`, where it says when. Raises `Refusal`."""
    word = sentence.text(at)
    hyphened = sentence.text(at) in {"bi", "semi"} and sentence.text(at + 1) == "-"
    if hyphened:
        word = sentence.text(at) + sentence.text(at + 2)
    end = at + 3 if hyphened else at + 1
    if word not in ADVERBS and word not in UNCLEAR_ADVERBS:
        return None
    behind = sentence.kind(end)
    leads_on = sentence.text(end) in FOLLOWING or behind in {None, "clock", "iso", "mark"}
    leads_on = leads_on or read_day_names(sentence, end) is not None
    if not leads_on or sentence.text(at - 1) in DETERMINERS or sentence.text(end) in {"'", "/"}:
        return None
    if word in UNCLEAR_ADVERBS:
        raise Refusal("ambiguous", f"{word!r} has two meanings.", f"Say {UNCLEAR_ADVERBS[word]}.")
    return Found(ADVERBS[word], end)


def read_times_per(sentence: Sentence, at: int) -> Found | None:
    """`once a day`, `twice daily`, `3 times a week`."""
    if (simple := {"once": 1, "twice": 2, "thrice": 3}.get(sentence.text(at))) is not None:
        count, end = simple, at + 1
    elif matched := re.fullmatch(r"(\d{1,2})x", sentence.text(at)):
        count, end = int(matched[1]), at + 1
    else:
        number = read_whole(sentence, at)
        if number is None or sentence.text(number.end) not in {"times", "x"}:
            return None
        count, end = number.value, number.end + 1
    if behind := sentence.after(end, "daily", "weekly", "monthly", "yearly", "hourly"):
        step = ADVERBS[sentence.text(end)][0]
        assert isinstance(step, Step), "all of them are"
        return Found((Times(count, step.unit),), behind)
    per = sentence.after(end, "a", "an", "per", "each", "every")
    if per is not None and (unit := unit_at(sentence, per)):
        return Found((Times(count, unit),), per + 1)
    return None
