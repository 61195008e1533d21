"""The guard: what in a skill's files could harm, and whether a skill may be written as it is.

| verdict   | a write that the agent asks for        |
|-----------|----------------------------------------|
| safe      | is made                                |
| caution   | waits for a person's approval          |
| dangerous | is refused, and nothing has changed    |

A pattern is no proof: it keeps the known tricks out and says so, and nothing else relies on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from hermes_jobs.domain.events import SkillFile
from hermes_jobs.domain.scan import Finding, scan
from hermes_jobs.domain.skill import Files
from hermes_jobs.skills.guard_rules import RULES, WARNED_OF, Rule, Severity

Verdict = Literal["safe", "caution", "dangerous"]

BEFORE = 80  # characters before a match among which a warning of it is looked for
EXCERPT = 80
PROGRAMS = ("f0VMR", "TVqQ", "TVo", "z/rt/g", "zvrt/g", "yv66v", "AGFzb")
"""How programs begin in base64: ELF, PE (two forms), Mach-O (32, 64 bits, universal), WebAssembly."""

# A skill is read by an agent that may act on it, so that much of what a note may not hold is a matter for a
# person here: procedures do touch start files, variables and marks.
CAUTION_OF_SCAN = {"stays in the shell", "dumps the environment", "forged markup"}


class Concern(msgspec.Struct, frozen=True, kw_only=True):
    """One match of a rule; `line` counts from 1."""

    rule: str
    severity: Severity
    path: str
    line: int
    excerpt: str


def verdict(concerns: Iterable[Concern]) -> Verdict:
    """What the concerns come to together."""
    found = {concern.severity for concern in concerns}
    return "dangerous" if "dangerous" in found else "caution" if found else "safe"


def concerns_of(files: Files) -> tuple[Concern, ...]:
    """Everything that the rules name in a skill's files."""
    return tuple(each for path in sorted(files) for each in _of_file(path, files[path]))


def new_concerns(before: Files, after: Files) -> tuple[Concern, ...]:
    """What a write brings: what the rules name after it and did not name before it, file by file."""
    found: list[Concern] = []
    for path, file in sorted(after.items()):
        if before.get(path) == file:
            continue
        known = Counter((each.rule, each.excerpt) for each in _of_file(path, before.get(path)))
        for concern in _of_file(path, file):
            key = (concern.rule, concern.excerpt)
            if known[key]:
                known[key] -= 1
            else:
                found.append(concern)
    return tuple(found)


def _of_file(path: str, file: SkillFile | None) -> tuple[Concern, ...]:
    if file is None:
        return ()
    if file.base64:
        return tuple(_of_binary(path, file.content))
    return _of_text(path, file.content.removeprefix("\ufeff"))  # editors' mark of UTF-8, which hides nothing


def _of_binary(path: str, content: str) -> Iterator[Concern]:
    if content.startswith(PROGRAMS):
        yield Concern(rule="holds a program", severity="dangerous", path=path, line=1, excerpt="a binary")
    elif not path.startswith(("assets/", "templates/", "references/")):
        yield Concern(rule="holds a binary", severity="caution", path=path, line=1, excerpt="a binary")


@lru_cache(maxsize=64)
def _of_text(path: str, text: str) -> tuple[Concern, ...]:
    found = [*_of_scan(path, text), *(each for rule in RULES for each in _of_rule(rule, path, text))]
    # Two rules of one name that meet on a line say the same.
    told = {(each.rule, each.line): each for each in reversed(found)}
    return tuple(sorted(told.values(), key=lambda each: (each.line, each.rule)))


def _of_scan(path: str, text: str) -> Iterator[Concern]:
    for finding in scan(text):
        if not _is_warned_of(text, finding.start):
            yield Concern(
                rule=finding.rule,
                severity=_severity(finding),
                path=path,
                line=_line(text, finding.start),
                excerpt=finding.excerpt,
            )


def _severity(finding: Finding) -> Severity:
    sends = any(word in finding.excerpt for word in ("curl", "wget", "nc ", "ncat", "http"))
    if finding.rule in CAUTION_OF_SCAN and not sends:
        return "caution"
    if finding.rule == "reads secrets" and ".env" in finding.excerpt:
        return "caution"
    return "dangerous"


def _of_rule(rule: Rule, path: str, text: str) -> Iterator[Concern]:
    for match in rule.pattern.finditer(text):
        if rule.unless is not None and rule.unless.search(match[0]):
            continue
        if not _is_warned_of(text, match.start()):
            yield Concern(
                rule=rule.name,
                severity=rule.severity,
                path=path,
                line=_line(text, match.start()),
                excerpt=_excerpt(match[0]),
            )


def _is_warned_of(text: str, start: int) -> bool:
    """Whether what stands right before it, on the same line, tells not to do it."""
    line = text.rfind("\n", 0, start) + 1
    return WARNED_OF.search(text[max(line, start - BEFORE) : start]) is not None


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT]}…"
