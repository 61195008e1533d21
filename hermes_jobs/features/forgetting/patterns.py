"""Patterns of texts to be removed: what they find, in whatever way it is written, and what replaces it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.streams.texts import in_json
from hermes_jobs.text.escapes import MARKS, readings
from hermes_jobs.text.spelling import Spelling

REDACTED = "[redacted]"
ROUNDS = 8  # a mark may complete another match with the text around it


class Wanted(NamedTuple):
    """What is looked for in every reading of what is stored, and the texts that hold marks of escapes."""

    plain: re.Pattern[str]
    spellings: Sequence[Spelling] = ()


class Pattern:
    """The `Replace` of a pattern: every match becomes a placeholder that the pattern does not match."""

    def __init__(self, pattern: re.Pattern[str] | Wanted, mark: str = REDACTED) -> None:
        """Raises `Rejected` for a pattern that matches the empty text, or every mark."""
        self._wanted = wanted = pattern if isinstance(pattern, Wanted) else Wanted(pattern)
        if wanted.plain.search(""):
            raise Rejected(
                "The pattern matches everywhere, even where there is no text.",
                kind="usage",
                hint="Write one that needs at least one character.",
            )
        marks = (mark, "[...]", "[ ]", "_", "#", "*")
        unmatched = next((candidate for candidate in marks if not self.found(candidate)), None)
        if unmatched is None:
            raise Rejected(
                "The pattern matches every text.", kind="usage", hint="Write one that matches less."
            )
        self.mark = unmatched

    def __call__(self, text: str) -> str:
        """See `Replace`."""
        return self._in_text(in_json(text, self._in_text) if text[:1] in {"{", "["} else text)

    def found(self, stored: str) -> bool:
        """Whether it matches anything in the text, escaped or not."""
        return next(self._matches(stored), None) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it matches: begin and end, in order, none within another."""
        spans: list[tuple[int, int]] = []
        for start, end in sorted(self._matches(text)):
            if spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return spans

    def _matches(self, text: str) -> Iterator[tuple[int, int]]:
        for reading in readings(text):
            for match in self._wanted.plain.finditer(reading.text):
                yield reading.written(*match.span())
            for spelling in self._wanted.spellings:
                for span in spelling.spans(reading.text):
                    yield reading.written(*span)

    def _in_text(self, text: str) -> str:
        for _ in range(ROUNDS):
            spans = self.spans(text)
            if not spans:
                return text
            text = _replaced(text, spans, self.mark)
        return self.mark if self.found(text) else text


def _replaced(text: str, spans: Iterable[tuple[int, int]], mark: str) -> str:
    pieces: list[str] = []
    last = 0
    for start, end in spans:
        pieces += (text[last:start], mark)
        last = end
    return "".join((*pieces, text[last:]))


def literal(text: str) -> Wanted:
    """The pattern of a text, case-insensitive."""
    return _wanted([text], whole=False, flags=re.IGNORECASE)


def exact_texts(texts: Collection[str]) -> Wanted:
    """The pattern of these texts as they are, and not within a word."""
    return _wanted(texts, whole=True)


def _wanted(texts: Collection[str], *, whole: bool, flags: int = 0) -> Wanted:
    forms = {form for text in texts for form in _composed_or_not(text)}
    spellings = [
        Spelling(form, whole=whole, ignore_case=bool(flags & re.IGNORECASE))
        for form in forms
        if not MARKS.isdisjoint(form)
    ]
    return Wanted(re.compile(_any_of(forms, whole=whole), flags), spellings)


def _composed_or_not(text: str) -> set[str]:
    return {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}


def _any_of(forms: Collection[str], *, whole: bool) -> str:
    parts = (_part(form, whole=whole) for form in sorted(forms, key=lambda form: (-len(form), form)))
    return f"(?:{'|'.join(parts)})"


def _part(form: str, *, whole: bool) -> str:
    """A space may be written as a plus sign, as forms on the web send it."""
    escaped = re.escape(form).replace(r"\ ", "[ +]")
    if not whole:
        return escaped
    before = r"(?<!\w)" if form[:1].isalnum() else ""
    after = r"(?!\w)" if form[-1:].isalnum() else ""
    return f"{before}{escaped}{after}"
