"""A notation for phrases, compiled to regular expressions over the tags of a sentence.

Words stand for themselves; `[on] the` makes `on` optional; `(a | b)` are alternatives, tried in their
order; `(...)*` repeats, at most 30 times. `<unit>` is a phrase of `PHRASES`. `<n=whole>` and
`which=(this | next)` keep what they matched as the slots `n` and `which`. Between backticks is a regular
expression for one tag.

The tag of a word is the word, or its class in capitals (`DAY`, `MONTH`). The tag of a number is `n:9`, that
of a clock time `c:9:30`; `iso:`, `date:`, `path:` and `opaque:` are tags without their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from schedules.phrases.vocabulary import (
    CARDINALS,
    FULL_DAYS,
    MONTH_NUMBERS,
    ORDINALS,
    PLURAL_DAYS,
    SHORT_DAYS,
    SHORT_MONTHS,
    TENS,
    UNITS,
    WORDS,
)

CLASSES = (
    dict.fromkeys(FULL_DAYS, "DAY")
    | dict.fromkeys(PLURAL_DAYS, "DAYS")
    | dict.fromkeys(SHORT_DAYS, "SHORTDAY")
    | dict.fromkeys(MONTH_NUMBERS, "MONTH")
    | dict.fromkeys(SHORT_MONTHS, "SHORTMONTH")
    | {word: "DIGIT" if 1 <= number <= 9 else "TEEN" for word, number in CARDINALS.items()}
    | dict.fromkeys(TENS, "TENS")
    | {word: "NTH" if number <= 9 else "TEENTH" for word, number in ORDINALS.items() if number > 3}
)
"""The words that stand for their class. The first ordinals and `last` are words of other phrases too."""


def _one_of(words: Iterable[str]) -> str:
    """The pattern of any of the words."""
    tags = sorted({CLASSES.get(word, word) for word in words})
    return f"`{'|'.join(re.escape(tag) for tag in tags)}`"


_UNIT_WORDS = "|".join(sorted(UNITS, key=len, reverse=True))

PHRASES = {
    # numbers
    "cardinal": "TENS [-] DIGIT | TENS | DIGIT | TEEN",
    "digits": r"`n:\d+`",
    "whole": "<digits> | <cardinal>",
    "amount": r"`n:\d{1,9}(?:[.,]\d{1,2})?` | <cardinal>",
    "nth": r"`\d{1,2}(?:st|nd|rd|th)`",
    "low_ordinal": "first | second | third | NTH",
    "ordinal": "<low_ordinal> | last | TEENTH | <nth> | TENS [-] <low_ordinal>",
    "wholes": "<whole> ((, and | , | and | &) <whole>)*",
    "ordinals": "<ordinal> ((, [and] [the] | and [the | on the] | & [the]) <ordinal>)*",
    # lengths of time
    "unit": _one_of(word for word in UNITS if len(word) > 2 or word == "hr"),
    "unit_after_number": "<unit> | wk | yr",
    "unit_letter": _one_of(word for word in UNITS if len(word) == 1),
    "short_length": rf"`(?:\d+(?:\.\d+)?(?:{_UNIT_WORDS}))+(?:(?<=\dh)[0-5]?\d)?`",
    # times of day
    "clock": r"`c:\d\S*`",
    "meridiem": "am | pm",
    "oclock": "o'clock | oclock",
    "hours": "<oclock> | hours | hrs | h | uhr",
    "hour_name": r"`c:\d{1,2}[ap]m` | noon | midnight | (`n:\d+` | DIGIT | TEEN) [<meridiem> | <hours>]",
    "hour_words": "<hour=cardinal> [[joint=(- | oh | o)] <minute=cardinal>]",
    # days
    "weekday": "DAY | SHORTDAY [.]",
    "group": "`(?:weekday|workday|weekend)s?` | (week | working | work | business) (day | days)"
    " | week - (day | days | end | ends)",
    "one_day": "<weekday> | DAYS",
    "day_range": "<one_day> (to | through | thru | until | till | -) <one_day> | <one_day> | <group>",
    "days": "<day_range> ((, and | , | and | & | / | `\\+`) [on | every | each] <day_range> | <day_range>)*",
    "month": "MONTH | SHORTMONTH [.]",
    "months": "<month> ((, and | , | and | & | /) <month>)*",
    "part": "`morning|afternoon|evening|night`",
    "weekday_prefix": "on all | on the | at the | on | at | from | all",
    "parts": "`mornings|afternoons|evenings|nights`",
    # words that introduce others
    "every": "each and every | once every | once each | on every | on each | every single | every | each",
    "other": "other | alternate | alternating",
    "and": ", and | , | and | &",
    "at": "at | @",
    "any": r"`\S+`",
}
"""Phrases that other patterns are made of."""

PHRASES |= {name: _one_of(words) for name, words in WORDS.items()}

_PIECE = re.compile(r"<(?:(\w+)=)?(\w+)>|(\w+)=\(|`([^`]*)`|([\[\]()|*])|([^\s\[\]()|*<>`]+)")
_MARKS = {"[": "(?:", "]": ")?", "(": "(?:", "*": "{0,30}"}


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern; each tag in the text that it matches ends with a space."""
    return re.compile(_expression(pattern))


@cache
def _expression(pattern: str) -> str:
    parts = []
    for slot, phrase, group, tag, mark, word in _PIECE.findall(pattern):
        if phrase:
            inner = _expression(PHRASES[phrase])
            parts.append(f"(?P<{slot}>{inner})" if slot else inner)
        elif group:
            parts.append(f"(?P<{group}>")
        elif tag:
            parts.append(f"(?:{tag}) ")
        elif mark:
            parts.append(_MARKS.get(mark, mark))
        else:
            assert word not in CLASSES, f"{word!r} is only seen as {CLASSES[word]}"
            parts.append(f"{re.escape(word)} ")
    return f"(?:{''.join(parts)})"
