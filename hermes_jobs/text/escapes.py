r"""Escaped text read back, with the way from what was read to where it is written.

The escapes are those of JSON's writers in Python, Go, PHP and JavaScript (`\u00fc`, `\/`, surrogate pairs),
of string literals (`\x2f`, `\U0001f600`, `\u{1f600}`, `\303\274`), of URLs (`%C3%BC`, `%u00fc`), and of HTML
(`&uuml;`, `&#252;`, `&#xfc;`). Text that was escaped several times, or each part of it in another way, is
read level by level: each level undoes one escape at each place. Escapes are longer than what they stand for,
so a level is shorter than the one below it; `DEPTH` levels are read, in linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hermes_jobs.text.patterns import compile_later

DEPTH = 8
MARKS = frozenset("\\%&")

# One code point each. A byte that is no UTF-8 is read as Latin-1: JavaScript's `escape` writes those.
_HEX = "[0-9a-fA-F]"
_NEXT = "[89abAB]" + _HEX
_JSON = (
    r"\\(?:"
    rf"u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}|u{_HEX}{{4}}|u\{{{_HEX}{{1,6}}\}}|U{_HEX}{{8}}"
    r"|[\"'\\/`$?abefnrtv]|0(?![0-7])"
)
_LATIN_1 = rf"{_JSON}|x{_HEX}{{2}})"
_OCTAL_NEXT = r"\\2[0-7]{2}"
_UTF_8 = (
    rf"{_JSON}|x[c-dC-D]{_HEX}\\x{_NEXT}|x[eE]{_HEX}(?:\\x{_NEXT}){{2}}|x[fF][0-7](?:\\x{_NEXT}){{3}}"
    rf"|x{_HEX}{{2}}|3[0-3][0-7]{_OCTAL_NEXT}|34[0-7](?:{_OCTAL_NEXT}){{2}}|35[0-7](?:{_OCTAL_NEXT}){{2}}"
    rf"|36[0-7](?:{_OCTAL_NEXT}){{3}}|[01][0-7]{{2}})"
)
_URL = (
    rf"%(?:[0-7]{_HEX}|[c-dC-D]{_HEX}%{_NEXT}|[eE]{_HEX}(?:%{_NEXT}){{2}}|[fF][0-7](?:%{_NEXT}){{3}}"
    rf"|[uU][dD][89abAB]{_HEX}{{2}}%[uU][dD][c-fC-F]{_HEX}{{2}}|[uU]{_HEX}{{4}}|[89a-fA-F]{_HEX})"
)
_HTML = r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});"

_ALL = compile_later(f"{_LATIN_1}|{_URL}|{_HTML}")
_ALL_BYTES = compile_later(f"{_UTF_8}|{_URL}|{_HTML}")
_JSON_ALONE = compile_later(f"{_LATIN_1}")
_BYTES = compile_later(rf"\\(?:x[c-fC-F]{_HEX}\\x[89abAB]|[0-3][0-7]{{2}})")
_LETTERS = dict(zip("abefnrtv0", "\a\b\x1b\f\n\r\t\v\0", strict=True))


class _Escape(NamedTuple):
    """Where an escape's character begins and ends in the text that is read, and the escape in that below."""

    begin: int
    end: int
    written: int
    written_end: int


class Reading:
    """A text as it is read, and where each part of it is written. `below` None: it is as it is written."""

    def __init__(self, text: str, below: Reading | None = None, escapes: Sequence[_Escape] = ()) -> None:
        self.text = text
        self._below = below
        self._escapes = escapes

    def written(self, start: int, end: int) -> tuple[int, int]:
        """The begin and the end, as it is written, of that part, which is not empty."""
        if self._below is None:
            return start, end
        return self._below.written(self._in_below(start)[0], self._in_below(end - 1)[1])

    def read(self, escapes: re.Pattern[str]) -> Reading | None:
        """The text with each of these escapes undone once; None if it has none."""
        pieces: list[str] = []
        found: list[_Escape] = []
        read_to = length = 0
        for match in escapes.finditer(self.text):
            character = _character(match[0])
            if character is None:
                continue
            pieces += (self.text[read_to : match.start()], character)
            begin = length + match.start() - read_to
            read_to, length = match.end(), begin + len(character)
            found.append(_Escape(begin, length, match.start(), read_to))
        if not found:
            return None
        pieces.append(self.text[read_to:])
        return Reading("".join(pieces), self, found)

    def _in_below(self, at: int) -> tuple[int, int]:
        """Where the character at that index begins and ends in the text below."""
        index = bisect_right(self._escapes, at, key=lambda escape: escape.begin) - 1
        if index < 0:
            return at, at + 1
        escape = self._escapes[index]
        if at < escape.end:
            return escape.written, escape.written_end
        beyond = escape.written_end + at - escape.end
        return beyond, beyond + 1


def readings(text: str) -> Iterator[Reading]:
    r"""The text as it is written, then each level of what it may stand for.

    Where it can be read in more than one way, each is followed: `\xc3\xbc` is one character or two, and what
    looks like an escape of a URL in a JSON text may be the text's own.
    """
    written = Reading(text)
    yield written
    if MARKS.isdisjoint(text):
        return
    levels = [written, *_levels(written, _ALL)]
    yield from levels[1:]
    if "\\" in text and ("%" in text or "&" in text):
        yield from _levels(written, _JSON_ALONE)
    first = next((level for level in levels if _BYTES.search(level.text)), None)
    if first is not None:
        yield from _levels(first, _ALL_BYTES)


def characters_at(text: str, at: int) -> Iterator[tuple[int, str]]:
    """What each escape that begins at that index stands for, and where it ends."""
    for escapes in (_ALL, _ALL_BYTES):
        match = escapes.match(text, at)
        character = _character(match[0]) if match is not None else None
        if match is not None and character is not None:
            yield match.end(), character


def _levels(reading: Reading, escapes: re.Pattern[str]) -> Iterator[Reading]:
    above: Reading | None = reading
    for _ in range(DEPTH):
        above = above.read(escapes) if above is not None else None
        if above is None:
            return
        yield above


def _character(escape: str) -> str | None:
    """What an escape stands for; None if it is none after all."""
    kind, rest = escape[0], escape[1:]
    if kind == "&":
        return _entity(rest)
    if kind == "%":
        return _of_units(escape, "%") if rest[0] in "uU" else _of_bytes(escape.split("%")[1:], 16)
    letter = rest[0]
    if letter in "01234567" and len(rest) > 1:
        return _of_bytes(escape.split("\\")[1:], 8)
    if letter == "x":
        return _of_bytes(escape.split("\\x")[1:], 16)
    if letter == "U" or rest[:2] == "u{":
        return _of_code(int(rest.strip("uU{}"), 16))
    if letter == "u":
        return _of_units(escape, "\\")
    return _LETTERS.get(letter, letter)


def _of_bytes(numbers: list[str], base: int) -> str:
    data = bytes(int(number, base) for number in numbers)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _of_units(escape: str, mark: str) -> str:
    """Of one or two code units of UTF-16."""
    units = b"".join(int(unit[1:], 16).to_bytes(2, "big") for unit in escape.split(mark)[1:])
    return units.decode("utf-16-be", "surrogatepass")


def _of_code(number: int) -> str | None:
    return chr(number) if number <= 0x10FFFF else None


def _entity(name: str) -> str | None:
    if name[0] == "#":
        return _of_code(int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1]))
    from html.entities import html5  # a large table, which few commands need

    return html5.get(name)
