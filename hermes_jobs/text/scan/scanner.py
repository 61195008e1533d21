"""Scanning a text, and replacing what is found by notes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from hashlib import blake2b
from itertools import accumulate

from hermes_jobs.text.scan.findings import KINDS, Kind, ScanFinding

# What detects is imported with the first text that is scanned: it reads its rules from files.


def scan(text: str, kinds: Collection[Kind] = KINDS) -> tuple[ScanFinding, ...]:
    """Everything in the text that a rule of these kinds detects, in the text's order."""
    if not text:
        return ()
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=20).digest()
    findings = _findings.get(digest)
    if findings is None:
        from hermes_jobs.text.scan.detection import detected

        findings = detected(text)
        if len(_findings) >= _MOST_REMEMBERED:
            _findings.pop(next(iter(_findings)), None)
        _findings[digest] = findings
    return tuple(finding for finding in findings if finding.kind in kinds or finding.kind == "unscanned")


_MOST_REMEMBERED = 2_048
_findings: dict[bytes, tuple[ScanFinding, ...]] = {}
"""What was found in texts, by their digests, in the order of their first scan."""


def scan_skill_file(text: str) -> tuple[ScanFinding, ...]:
    """What `scan` finds and what the rules for skills detect, in order, without what the text warns of."""
    from hermes_jobs.text.scan.detection import detected_in_skill

    return detected_in_skill(text, scan(text))


# --- notes in the place of findings ----------------------------------------------------------


def redact_findings(text: str, kinds: Collection[Kind] = KINDS) -> str:
    """The text with suspicious lines and hidden characters replaced by notes that name the rule."""
    findings = scan(text, kinds)
    if not findings:
        return text
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    notes: dict[int, str] = {}
    for finding in findings:
        if finding.kind != "hidden":
            first, last = (bisect_right(ends, at) for at in (finding.start, finding.end - 1))
            notes |= {at: _note(finding.rule) for at in range(first, last + 1) if at not in notes}
    hidden = [finding for finding in findings if finding.kind == "hidden"]
    shown = [
        notes.get(at) or _visible(line, ends[at] - len(line) - 1, hidden) for at, line in enumerate(lines)
    ]
    return "\n".join(line for at, line in enumerate(shown) if at not in notes or shown[at - 1 : at] != [line])


def _note(rule: str) -> str:
    return f"[left out by the rule “{rule}”]"


def _visible(line: str, start: int, hidden: Sequence[ScanFinding]) -> str:
    """The line, which begins at `start` of the text, with each run of hidden characters replaced."""
    first = bisect_right(hidden, start - 1, key=lambda finding: finding.start)
    last = bisect_right(hidden, start + len(line), key=lambda finding: finding.start)
    pieces: list[str] = []
    at = 0
    for finding in hidden[first:last]:
        if finding.end <= start + len(line):
            pieces += (line[at : finding.start - start], _note(finding.rule))
            at = finding.end - start
    return "".join((*pieces, line[at:]))
