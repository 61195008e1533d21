"""Looking for what all rules name, in every way to read a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from hermes_jobs.domain.scan.credentials import CREDENTIAL_RULES
from hermes_jobs.domain.scan.finding import KINDS, Finding, Kind, Rule, compiled
from hermes_jobs.domain.scan.folding import Reading, readings
from hermes_jobs.domain.scan.hidden import hidden_characters
from hermes_jobs.domain.scan.instructions import INSTRUCTION_RULES
from hermes_jobs.domain.scan.languages import LANGUAGE_RULES
from hermes_jobs.domain.scan.persistence import PERSISTENCE_RULES
from hermes_jobs.domain.scan.poisons import POISON_RULES
from hermes_jobs.domain.scan.theft import THEFT_RULES
from hermes_jobs.domain.scan.tongues import TONGUE_RULES

RULES: tuple[Rule, ...] = (
    *INSTRUCTION_RULES,
    *LANGUAGE_RULES,
    *TONGUE_RULES,
    *POISON_RULES,
    *THEFT_RULES,
    *PERSISTENCE_RULES,
    *CREDENTIAL_RULES,
)
EXCERPT, SECRET_EXCERPT = 80, 6
_REACH = 600
"""Characters around a rule's word within which its pattern is tried: more than any pattern spans."""

_BEFORE = 60
_BEYOND = 200


def scan(text: str, kinds: Collection[Kind] = KINDS) -> tuple[Finding, ...]:
    """Everything in the text that a rule of these kinds names, in the text's order. Empty: nothing."""
    return tuple(finding for finding in _scanned(text) if finding.kind in kinds)


@lru_cache(maxsize=512)
def _scanned(text: str) -> tuple[Finding, ...]:
    found = {
        (finding.rule, finding.start, finding.end): finding
        for reading in readings(text)
        for finding in _found(reading, text)
    }
    hidden = hidden_characters(text)
    return tuple(sorted((*found.values(), *hidden), key=lambda each: (each.start, each.end, each.rule)))


def _found(reading: Reading, text: str) -> Iterator[Finding]:
    low = reading.text.lower()
    changed = None if reading.changed is None else _around(reading.changed)
    for rule in RULES:
        if reading.guessed and rule.kind != "instruction":
            continue
        places = _around(_at(low, rule.near))
        for first, last in places if changed is None else _common(places, changed):
            # A part's end must not hide what excuses a match before it.
            for match in compiled(rule.pattern).finditer(reading.text, first, last + _BEYOND):
                before = reading.text[max(match.start() - _BEFORE, 0) : match.start()]
                if not rule.excuses(match[0], before):
                    start, end = reading.original(*match.span())
                    yield Finding(rule.name, _excerpt(text[start:end], rule.kind), rule.kind, start, end)


def _at(low: str, words: Iterable[str]) -> list[int]:
    """Where one of the words stands, in order."""
    at: list[int] = []
    for word in words:
        found = low.find(word)
        while found >= 0:
            at.append(found)
            found = low.find(word, found + len(word))
    return sorted(at)


def _around(at: Sequence[int]) -> list[tuple[int, int]]:
    """The parts of a text within reach of these places, apart from each other."""
    parts: list[tuple[int, int]] = []
    for place in at:
        first, last = max(place - _REACH, 0), place + _REACH
        if parts and first <= parts[-1][1]:
            parts[-1] = (parts[-1][0], last)
        else:
            parts.append((first, last))
    return parts


def _common(some: Iterable[tuple[int, int]], others: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What lies in parts of both; each are in order and apart from each other."""
    following = iter(others)
    other = next(following, None)
    for first, last in some:
        while other is not None and other[1] <= first:
            other = next(following, None)
        while other is not None and other[0] < last:
            yield max(first, other[0]), min(last, other[1])
            if other[1] >= last:
                break
            other = next(following, None)


def _excerpt(text: str, kind: Kind) -> str:
    """The words on one line; of a secret no more than how it begins."""
    line = " ".join(text.split())
    if kind == "credential":
        return f"{line[:SECRET_EXCERPT]}…"
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"
