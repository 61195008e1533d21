"""Cuts a sentence into words, numbers, clock times, and what must not be looked into: quotes, addresses."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

TokenKind = Literal["word", "number", "clock", "iso", "date", "path", "opaque", "mark"]

_ALIKE = str.maketrans(
    {
        "’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "−": "-", "‑": "-",
        "\u00a0": " ", "\u202f": " ", "\u2009": " ", "，": ",", "：": ":",
    }
    | {chr(0xFF10 + digit): str(digit) for digit in range(10)}
)  # fmt: skip
"""Characters that are read alike, one for one, so that positions stay."""

_MERIDIEM = r"(?:[ap]\.\s?m\b\.?|[ap]m\b)"
_TOKEN = re.compile(
    rf"""
    (?P<opaque> https?://\S+ | [\w.+-]+@[\w-]+\.[\w.-]+\w | "[^"]*" | «[^»]*» | `[^`]*`
        | (?<!\w)'(?:[^']|'(?=\w))+'(?!\w) | (?<![\w.])[~.]{{0,2}}/[\w.-][^\s,;]* | \d+(?:\.\d+){{3,}}
        | \d+\.\d+\.\d+(?<!\.\d{{4}})(?![\d]) | \#\w+ | [$€£]\s?\d[\d.,]* | \d[\d.,]*\s?% )
  | (?P<iso> \d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z\b|[+-]\d\d:?\d\d\b)?)?(?![\w-]|:\d) )
  | (?P<date> \d{{1,2}}\.\d{{1,2}}\.\d{{4}}(?!\w) | \d{{1,2}}/\d{{1,2}}/\d{{4}}(?!\w) )
  | (?P<clock> (?<![\w.,:])(?:\d{{1,2}}(?:[:.]\d\d){{0,2}}|\d{{3,4}})\s?{_MERIDIEM}
        | (?<![\w.:])\d{{1,2}}:\d\d(?::\d\d)?(?!\w|:\d) | (?<!\S):\d\d(?!\w|:\d)
        | (?<![\w.:])\d{{1,2}}:\d\dh\b )
  | (?P<path> (?:UTC|GMT)\s?[+-]\s?\d{{1,2}}(?::?\d\d)?(?![\w:]) | [^\W\d]+(?:/[\w+-]+)+ )
  | (?P<number> \d+(?:[.,]\d+)?(?!\w|\.\d+[^\W\d]) )
  | (?P<word> [ap]\.m\b\.? | \d+(?:\.\d+)?[^\W\d]\w* | \w+(?:'\w+)* )
  | (?P<mark> \S )
    """,
    re.VERBOSE | re.IGNORECASE,
)


def word_set(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


class Token(NamedTuple):
    """A piece of the sentence from `start` to `end`; `text` is in lower case, `raw` as it was written."""

    kind: TokenKind
    text: str
    raw: str
    start: int
    end: int


class Sentence:
    """The tokens of a sentence, and questions about the words at a place; beyond the ends is nothing."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tuple(_tokens(source.translate(_ALIKE)))

    def __len__(self) -> int:
        return len(self.tokens)

    def text(self, at: int) -> str:
        """The token at that place, in lower case."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def raw(self, at: int) -> str:
        """The token at that place, as it was written."""
        return self.tokens[at].raw if 0 <= at < len(self.tokens) else ""

    def kind(self, at: int) -> TokenKind | None:
        """What the token at that place is; null beyond the ends."""
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else None

    def touches(self, at: int) -> bool:
        """Whether nothing, not even a space, parts the token there from the one before it."""
        return 0 < at < len(self.tokens) and self.tokens[at - 1].end == self.tokens[at].start

    def after(self, at: int, *phrases: str) -> int | None:
        """The place behind the first of these phrases that stands there; null where none does."""
        here = self.text(at)
        for phrase in phrases:
            first, *more = _words(phrase)
            if first == here and all(self.text(at + 1 + number) == word for number, word in enumerate(more)):
                return at + 1 + len(more)
        return None

    def skip(self, at: int, *phrases: str) -> int:
        """The place behind whichever of these phrases stands there, or the same place."""
        found = self.after(at, *phrases)
        return at if found is None else found

    def shown(self, start: int, end: int) -> str:
        """The tokens from `start` to before `end`, as they were written."""
        return self.source[self.tokens[start].start : self.tokens[end - 1].end] if start < end else ""


@cache
def _words(phrase: str) -> tuple[str, ...]:
    """The words of a phrase that the rules know."""
    return tuple(phrase.split())


def _tokens(text: str) -> list[Token]:
    found = []
    for matched in _TOKEN.finditer(text):
        kind: TokenKind = matched.lastgroup  # type: ignore[assignment]  # the groups are named after the kinds
        raw = matched.group()
        if (
            kind == "path"
            and all(part.isalpha() and len(part) <= 9 for part in raw.split("/"))
            and _days(raw)
        ):
            found.extend(_parts(raw, matched.start()))
        else:
            found.append(Token(kind, raw.lower(), raw, matched.start(), matched.end()))
    return found


def _days(raw: str) -> bool:
    """Whether the parts between the slashes are weekdays: `Mon/Wed/Fri`."""
    return all(
        part[:3].lower() in {"mon", "tue", "wed", "thu", "fri", "sat", "sun"} for part in raw.split("/")
    )


def _parts(raw: str, start: int) -> list[Token]:
    return [
        Token(
            "mark" if part.group() == "/" else "word",
            part.group().lower(),
            part.group(),
            at,
            at + len(part.group()),
        )
        for part in re.finditer(r"/|[^/]+", raw)
        for at in (start + part.start(),)
    ]
