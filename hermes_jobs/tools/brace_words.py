"""Counts the words and characters that a shell makes of a word with braces, without making them."""

from __future__ import annotations

import re
from typing import NamedTuple

_RANGE = re.compile(
    r"([+-]?[0-9]+)\.\.([+-]?[0-9]+)(?:\.\.([+-]?[0-9]+))?|([A-Za-z])\.\.([A-Za-z])(?:\.\..*)?"
)
_MARKS = re.compile(r"[{},]")
_MOST = 1 << 62
_DIGITS = 19
_MAX_BRACES = 1_000


class Made(NamedTuple):
    """How many words there are, and the characters of them all."""

    words: int
    characters: int


def made_by(text: str) -> Made:
    """What braces of a word make; its quoted and computed parts are replaced by other characters."""
    if text.count("{") > _MAX_BRACES:
        return Made(_MOST, _MOST)
    opened = [_Group(0)]
    at = 0
    for mark in _MARKS.finditer(text):
        opened[-1].add(Made(1, mark.start() - at))
        at = mark.end()
        if mark[0] == "{":
            opened.append(_Group(at))
        elif mark[0] == "," and len(opened) > 1:
            opened[-1].separate()
        elif mark[0] == "}" and len(opened) > 1:
            group = opened.pop()
            opened[-1].add(group.made(text[group.start : mark.start()] if group.is_plain else ""))
        else:
            opened[-1].add(Made(1, 1))
    opened[-1].add(Made(1, len(text) - at))
    while len(opened) > 1:
        unclosed = opened.pop()
        opened[-1].add(unclosed.product())
    return opened[-1].product()


class _Group:
    """The alternatives since a brace, as far as they are read; `is_plain`: there is no other brace in it."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.is_plain = True
        self._parts: list[Made] = []
        self._last = Made(1, 0)

    def add(self, made: Made) -> None:
        """What comes next in the last one."""
        words, characters = self._last
        self.is_plain = self.is_plain and made.words == 1
        self._last = _bounded(words * made.words, characters * made.words + made.characters * words)

    def separate(self) -> None:
        """Begin the next one, behind a comma."""
        self._parts.append(self._last)
        self._last = Made(1, 0)

    def made(self, inside: str) -> Made:
        """What is made where the brace is closed behind the text `inside`."""
        if self._parts:
            parts = [*self._parts, self._last]
            return _bounded(sum(one.words for one in parts), sum(one.characters for one in parts))
        return _of_range(inside) or Made(self._last.words, self._last.characters + 2 * self._last.words)

    def product(self) -> Made:
        """What is made where the brace is never closed, and its commas stand for themselves."""
        self._parts, parts = [], [*self._parts, self._last]
        self._last = Made(1, len(parts))
        for part in parts:
            self.add(part)
        return self._last


def _of_range(inside: str) -> Made | None:
    match = _RANGE.fullmatch(inside)
    if match is None:
        return None
    if match[4]:
        words = abs(ord(match[4]) - ord(match[5])) + 1
        return Made(words, words)
    first, last, step = (_number(number or "1") for number in match.groups()[:3])
    words = abs(last - first) // max(1, abs(step)) + 1
    return _bounded(words, words * max(len(match[1]), len(match[2])))


def _number(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0")[:_DIGITS] or "0"
    return -int(digits) if text.startswith("-") else int(digits)


def _bounded(words: int, characters: int) -> Made:
    return Made(min(words, _MOST), min(characters, _MOST))
