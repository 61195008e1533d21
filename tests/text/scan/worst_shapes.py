"""Generated texts that are as hard to scan as a writer could make them: 100 kB of words that rules look for.

Words and phrases of the tables, beginnings of encodings, signs and disguised letters are repeated and
mixed; of every fifth shape what a pattern matches, or its beginning. The same number makes the same shape.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from hermes_jobs.text.scan.lexicon import lexicon
from hermes_jobs.text.scan.rules import scan_rules
from tests.text.scan.samples import sample

SHAPES = [
    *(
        "好",
        "Password=",
        "a",
        "ignore ",
        "ignore previous ",
        "a-",
        "a.",
        "/",
        "$api ",
        ".env ",
        "key=A",
        "curl ",
    ),
    *(
        "<a style=",
        "<!-- ",
        "аbc",
        "QUJD",
        "1a",
        "a b ",
        "\n",
        '"',
        "http://a:",
        "do not ",
        "your ",
        "tell the user ",
    ),
    *(
        "instructions ",
        "sk-",
        ".ssh/ ",
        "crontab ",
        ".bashrc > ",
        "😀",
        "bcc ",
        "approve ",
        "when says ",
        " ",
        "\u202e",
    ),
    *("http://a and ", "-----BEGIN A "),
]
SIZE = 100_000
_SEPARATORS = ("", " ", " ", "\n", ". ", ", ", "; ", "   ", "-", "|")
_SIGNS = (
    "%41",
    "&#65;",
    "&lt;",
    "\\x41",
    "\\u0041",
    "41 ",
    "065,",
    "0100 ",
    "MFRA",
    "1gn0re ",
    "e\u0301",
    "ﬁ",
    "о",
    "ρ",
)


def shape(number: int, size: int = SIZE) -> str:
    """One shape: a text of `size` characters."""
    choose = random.Random(number)
    if number % 5 == 4:
        return _of_patterns(choose, size)
    words = choose.choice((_words(), _words(), _phrases(), SHAPES, (*_SIGNS, *SHAPES)))
    pieces = choose.sample(words, min(len(words), choose.choice((1, 2, 3, 5, 10, 30, 100, 300))))
    separator = choose.choice(_SEPARATORS)
    if choose.randrange(3):
        text = separator.join(choose.choices(pieces, k=size // 4))
    else:
        one = separator.join(pieces) + separator
        text = one * (size // len(one) + 1)
    if not choose.randrange(4):
        text = text.replace(choose.choice("aeiou"), choose.choice("аеіо01\u200b"))
    return text[:size]


def _of_patterns(choose: random.Random, size: int) -> str:
    """A few beginnings of what patterns match, over and over."""
    pieces = [
        one[: max(3, int(len(one) * choose.choice((0.15, 0.25, 0.5, 0.75, 0.9, 1))))]
        for one in (sample(choose) for _ in range(choose.choice((1, 1, 1, 2, 3, 10))))
    ]
    separator = choose.choice(_SEPARATORS)
    text = separator.join(pieces) + separator or " "
    return (text * (size // len(text) + 1))[:size]


@cache
def _words() -> Sequence[str]:
    return sorted(
        {word for rule in scan_rules().rules for word in (*rule.near, *rule.also)} | {*lexicon().stems}
    )


@cache
def _phrases() -> Sequence[str]:
    return sorted(lexicon().words)
