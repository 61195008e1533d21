"""A text that others wrote, with a note in the place of whatever a rule names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate

from hermes_jobs.domain.scan.finding import KINDS, Finding, Kind
from hermes_jobs.domain.scan.scanning import scan


def noted(text: str, kinds: Collection[Kind] = KINDS) -> str:
    """The text with suspicious lines and hidden characters replaced by notes that name the rule."""
    findings = scan(text, kinds)
    if not findings:
        return text
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    notes: dict[int, str] = {}
    for found in findings:
        if found.kind != "hidden":
            first, last = (bisect_right(ends, at) for at in (found.start, found.end - 1))
            notes |= {at: _note(found.rule) for at in range(first, last + 1) if at not in notes}
    hidden = [found for found in findings if found.kind == "hidden"]
    told = [
        notes.get(at) or _visible(line, ends[at] - len(line) - 1, hidden) for at, line in enumerate(lines)
    ]
    return "\n".join(line for at, line in enumerate(told) if at not in notes or told[at - 1 : at] != [line])


def _note(rule: str) -> str:
    return f"[left out by the rule «{rule}»]"


def _visible(line: str, start: int, hidden: Sequence[Finding]) -> str:
    """The line, which begins at `start` of the text, with each run of hidden characters replaced."""
    for found in reversed(hidden):
        if start <= found.start and found.end <= start + len(line):
            line = line[: found.start - start] + _note(found.rule) + line[found.end - start :]
    return line
