"""Searching a text, in all its normalizations, for what the rules detect."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from hermes_jobs.text.scan.acts import acts, packaged
from hermes_jobs.text.scan.findings import ScanFinding, excerpt
from hermes_jobs.text.scan.hidden import hidden_characters
from hermes_jobs.text.scan.matcher import (
    BEFORE,
    TRIES_OF_A_COPY,
    Match,
    Span,
    lower,
    merged,
    most_tries,
    search,
)
from hermes_jobs.text.scan.normalization import Normalization, normalizations
from hermes_jobs.text.scan.rules import ScanRule, excuse, scan_rules, skill_rules, warned_of

LONGEST = 1 << 20
"""Characters that are scanned; a longer text has a finding for the rest, whatever kinds are asked for."""

NOT_SCANNED = "not scanned to its end"
AROUND = 300  # characters around an edit that are searched once more


def detected_in_skill(text: str, found: Iterable[ScanFinding]) -> tuple[ScanFinding, ...]:
    """What a scan `found` and what the rules for skills detect, in order, without what the text warns of."""
    warning = excuse(warned_of())
    matches = search(text[:LONGEST], skill_rules()).matches
    of_skills = [_finding(match.rule, text, match.start, match.end) for match in matches]
    findings = [
        finding
        for finding in (*found, *of_skills)
        if not warning.search(text[max(finding.start - BEFORE, 0) : finding.start])
    ]
    return tuple(sorted(findings, key=_order))


def detected(text: str) -> tuple[ScanFinding, ...]:
    """What the rules detect, and hidden characters, in the text's order."""
    beginning = text[:LONGEST]
    findings, end = _matched(beginning)
    findings += hidden_characters(beginning)
    if end < len(text):
        rest = f"the {len(text) - end:,} characters after the first {end:,}"
        findings.append(ScanFinding(NOT_SCANNED, rest, "unscanned", end, len(text), "caution"))
    return tuple(sorted(findings, key=_order))


def _order(finding: ScanFinding) -> tuple[int, int, str]:
    return finding.start, finding.end, finding.rule


def _matched(text: str) -> tuple[list[ScanFinding], int]:
    """What the rules detect, and how far the text was searched."""
    findings: dict[tuple[str, int, int], ScanFinding] = {}
    searched, most = len(text), most_tries(text)
    for at, made in enumerate(normalizations(text) if text else ()):
        parts = list(_near_edits(made)) if at else [(0, len(made.text))]
        joined = _BETWEEN.join(made.text[start:end] for start, end in parts)
        starts = list(accumulate((end - start + len(_BETWEEN) for start, end in parts), initial=0))

        def place(within: int, parts: list[Span] = parts, starts: list[int] = starts) -> int:
            part = max(bisect_right(starts, within) - 1, 0)
            return min(parts[part][0] + within - starts[part], parts[part][1])

        most -= TRIES_OF_A_COPY * len(joined) if at else 0
        only = _is_instruction if made.guessed else None
        matches, end, tries = search(joined, scan_rules(), only=only, most=most)
        most -= tries
        if end < len(joined):
            searched = min(searched, made.original(place(end), place(end) + 1)[0])
        for match in (*matches, *_acts(joined[:end])):
            start, stop = place(match.start), place(match.end - 1) + 1
            if at == 0 or made.is_edited(start, stop):
                finding = _finding(match.rule, text, *made.original(start, stop))
                findings[finding.rule, finding.start, finding.end] = finding
    return list(findings.values()), searched


_BETWEEN = "\n\n"
"""Between the parts of a text that are searched together: no sentence goes beyond it."""


def _acts(text: str) -> Iterator[Match]:
    """What the sentences of a text ask for."""
    for found in acts(lower(text), packaged()):
        yield Match(ScanRule(name=found.act.name, pattern="", kind=found.act.kind), found.start, found.end)


def _near_edits(made: Normalization) -> Iterator[Span]:
    """The parts of a text around what was edited: the others are the parent's."""
    length = len(made.text)
    return merged((max(start - AROUND, 0), min(end + AROUND, length)) for start, end in made.after)


def _is_instruction(rule: ScanRule) -> bool:
    return rule.kind == "instruction"


def _finding(rule: ScanRule, text: str, start: int, end: int) -> ScanFinding:
    return ScanFinding(rule.name, excerpt(text[start:end], rule.kind), rule.kind, start, end, rule.severity)
