"""Splits a sentence into tokens (words, numbers, clock times, opaque quotes and addresses) and tags them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from schedules.phrases.patterns import CLASSES, compiled
from schedules.phrases.vocabulary import NUMBERS

TokenKind = Literal["word", "number", "clock", "iso", "date", "path", "opaque", "mark"]

T = TypeVar("T")

_ALIKE = str.maketrans(
    {
        "’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "−": "-", "‑": "-",
        "\u00a0": " ", "\u202f": " ", "\u2009": " ", "，": ",", "：": ":",
    }
    | {chr(0xFF10 + digit): str(digit) for digit in range(10)}
)  # fmt: skip
"""Characters that are replaced one for one, so that positions stay."""

_DAY_CLASSES = frozenset(["DAY", "DAYS", "SHORTDAY"])
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


class SentenceToken(NamedTuple):
    """A part of the sentence from `start` to `end`; `text` is in lower case, `raw` as it was written."""

    kind: TokenKind
    text: str
    raw: str
    start: int
    end: int


class Phrase(NamedTuple):
    """A pattern that matched the tokens from `start` to before `end`.

    `led`: other timing is right before it; `leads`: only timing and polite words are.
    """

    sentence: Sentence
    matched: re.Match[str]
    led: bool = False
    leads: bool = False

    @property
    def start(self) -> int:
        """The first token."""
        return self.sentence.token_at(self.matched.start())

    @property
    def end(self) -> int:
        """The place after the last token."""
        return self.sentence.token_at(self.matched.end())

    @property
    def shown(self) -> str:
        """The tokens as they were written."""
        return self.sentence.shown(self.start, self.end)

    def has(self, slot: str) -> bool:
        """Whether the pattern has the slot, and something is in it."""
        return self.matched.groupdict().get(slot) is not None

    def span(self, slot: str) -> tuple[int, int]:
        """The first token of the slot, and the place after its last."""
        start, end = self.matched.span(slot)
        return self.sentence.token_at(start), self.sentence.token_at(end)

    def text(self, slot: str) -> str:
        """The tokens of the slot in lower case, with a space between them; empty where it has none."""
        if not self.has(slot):
            return ""
        start, end = self.span(slot)
        return " ".join(self.sentence.text(at) for at in range(start, end))

    def raw(self, slot: str) -> str:
        """The tokens of the slot as they were written."""
        return self.sentence.shown(*self.span(slot))

    def number(self, slot: str) -> int:
        """The whole number or the ordinal in the slot."""
        return number_of(self.text(slot))

    def numbers(self, slot: str, pattern: str) -> list[int]:
        """The numbers in a slot that lists several, each of which matches the pattern."""
        return [number_of(text) for text in self.sentence.texts(pattern, *self.span(slot))]


class Sentence:
    """The tokens of a sentence, and the matches at a place; there are none beyond the ends."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tuple(_tokens(source.translate(_ALIKE)))
        tags = [f"{_tag(self, at)} " for at in range(len(self.tokens))]
        self._tags = "".join(tags)
        self._offsets = [0, *accumulate(len(tag) for tag in tags)]
        self._places = {offset: at for at, offset in enumerate(self._offsets)}

    def __len__(self) -> int:
        return len(self.tokens)

    def text(self, at: int) -> str:
        """The token at that place, in lower case."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def raw(self, at: int) -> str:
        """The token at that place, as it was written."""
        return self.tokens[at].raw if 0 <= at < len(self.tokens) else ""

    def kind(self, at: int) -> TokenKind | None:
        """The kind of the token at that place; None beyond the ends."""
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else None

    def is_capital(self, at: int) -> bool:
        """Whether the token at that place begins with a capital letter."""
        return self.raw(at)[:1].isupper()

    def touches(self, at: int) -> bool:
        """Whether the token there follows the one before it without a space."""
        return 0 < at < len(self.tokens) and self.tokens[at - 1].end == self.tokens[at].start

    def token_at(self, offset: int) -> int:
        """The place of the token whose tag begins at that offset."""
        return self._places[offset]

    def match(self, pattern: str, at: int) -> Phrase | None:
        """The pattern, where it matches at that place."""
        if not 0 <= at < len(self.tokens):
            return None
        matched = compiled(pattern).match(self._tags, self._offsets[at])
        return Phrase(self, matched) if matched else None

    def after(self, at: int, pattern: str) -> int | None:
        """The place after the pattern, where it matches at that place; else None."""
        match = self.match(pattern, at)
        return match.end if match else None

    def before(self, pattern: str, at: int) -> bool:
        """Whether the pattern ends right before that place."""
        return any(self.after(start, pattern) == at for start in range(at - 1, max(at - 4, -1), -1))

    def skip(self, at: int, pattern: str) -> int:
        """The place after the pattern, or the same place where it does not match."""
        match = self.match(pattern, at)
        return match.end if match else at

    def texts(self, pattern: str, start: int, end: int) -> Iterator[str]:
        """The words of each match of the pattern between two places."""
        at = start
        while at < end:
            match = self.match(pattern, at)
            if match is not None:
                yield " ".join(self.text(inside) for inside in range(at, match.end))
            at = match.end if match else at + 1

    def shown(self, start: int, end: int) -> str:
        """The tokens from `start` to before `end`, as they were written."""
        end = min(end, len(self.tokens))
        return self.source[self.tokens[start].start : self.tokens[end - 1].end] if start < end else ""


class ReadValue(NamedTuple, Generic[T]):
    """What some words say, and the place after them."""

    value: T
    end: int


Forms: TypeAlias = Mapping[str, Callable[[Phrase], T | None]]
"""The ways to write a value: patterns in the order in which they are tried, each with what reads it."""


def read_form(forms: Forms[T], sentence: Sentence, at: int) -> ReadValue[T] | None:
    """The value that begins there, in the first form that reads one."""
    for pattern, read in forms.items():
        phrase = sentence.match(pattern, at)
        value = read(phrase) if phrase else None
        if phrase is not None and value is not None:
            return ReadValue(value, phrase.end)
    return None


def number_of(text: str) -> int:
    """The value of a whole number or an ordinal, in digits or in words."""
    if digits := re.match(r"\d+", text):
        return int(digits[0])
    return sum(NUMBERS[word] for word in text.split() if word != "-")


def _tag(sentence: Sentence, at: int) -> str:
    """The tag that patterns see at that place."""
    text, kind = sentence.text(at), sentence.kind(at)
    match kind:
        case "number":
            return f"n:{text}"
        case "clock":
            return f"c:{text}"
        case "iso" | "date" | "path" | "opaque":
            return f"{kind}:"
        case _:
            pass
    if text in {"may", "march", "mar"} and not _is_month(sentence, at):
        return text
    return CLASSES.get(text, text)


def _is_month(sentence: Sentence, at: int) -> bool:
    """Whether `may` or `march` is the month: with a capital, or next to a day or a word such as `in`."""
    before, after = sentence.text(at - 1), sentence.text(at + 1)
    day = after in NUMBERS or re.fullmatch(r"\d+(?:st|nd|rd|th)?", after) is not None
    return sentence.is_capital(at) or day or before.isdigit() or before in {"in", "of", "every"}


def _tokens(source: str) -> Iterator[SentenceToken]:
    for matched in _TOKEN.finditer(source):
        kind: TokenKind = matched.lastgroup  # type: ignore[assignment]  # the groups are named after the kinds
        raw = matched.group()
        if kind == "path" and all(CLASSES.get(part.lower()) in _DAY_CLASSES for part in raw.split("/")):
            for part in re.finditer(r"/|[^/]+", raw):  # `Mon/Wed/Fri`
                word, at = part.group(), matched.start() + part.start()
                yield SentenceToken("mark" if word == "/" else "word", word.lower(), word, at, at + len(word))
            continue
        text = raw.lower()
        if kind == "clock" or re.fullmatch(r"[ap]\.m\.?", text):
            text = re.sub(r"\s|(?<=[apm])\.", "", text)
        yield SentenceToken(kind, text, raw, matched.start(), matched.end())
