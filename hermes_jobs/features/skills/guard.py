"""The guard: finds dangerous content in a skill's files, and decides whether the skill may be written.

| verdict   | a write that the agent asks for        |
|-----------|----------------------------------------|
| safe      | is made                                |
| caution   | waits for a user's approval            |
| dangerous | is refused, and nothing has changed    |

A pattern proves nothing: it finds known attacks, and no other check relies on it.
Files from other sources are scanned in the same way before they are used as a skill.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import front_matter
from hermes_jobs.features.skills.content import UnusableText
from hermes_jobs.features.skills.disk import Disk, Problem, SkillPlace
from hermes_jobs.features.skills.events import SkillFile
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Files
from hermes_jobs.text.scan.findings import ScanFinding, Severity
from hermes_jobs.text.scan.scanner import scan_skill_file

Verdict = Literal["safe", "caution", "dangerous"]

PROGRAMS = ("f0VMR", "TVqQ", "TVo", "z/rt/g", "zvrt/g", "yv66v", "AGFzb")
"""How programs begin in base64: ELF, PE (two forms), Mach-O (32, 64 bits, universal), WebAssembly."""


class Concern(msgspec.Struct, frozen=True, kw_only=True):
    """One match of a rule; `line` counts from 1."""

    rule: str
    severity: Severity
    path: str
    line: int
    excerpt: str


def verdict(concerns: Iterable[Concern]) -> Verdict:
    """The verdict on all concerns together."""
    severities = {concern.severity for concern in concerns}
    return "dangerous" if "dangerous" in severities else "caution" if severities else "safe"


def concerns_of(files: Files) -> tuple[Concern, ...]:
    """All matches of the rules in a skill's files."""
    return tuple(concern for path in sorted(files) for concern in _of_file(path, files[path]))


def new_concerns(before: Files, after: Files) -> tuple[Concern, ...]:
    """The concerns that a write adds: matches after it that were not there before, file by file."""
    concerns: list[Concern] = []
    for path, file in sorted(after.items()):
        if before.get(path) == file:
            continue
        old_concerns = Counter(
            (old_concern.rule, old_concern.excerpt) for old_concern in _of_file(path, before.get(path))
        )
        for concern in _of_file(path, file):
            key = (concern.rule, concern.excerpt)
            if old_concerns[key]:
                old_concerns[key] -= 1
            else:
                concerns.append(concern)
    return tuple(concerns)


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
    line_ends = list(accumulate(len(line) + 1 for line in text.split("\n")))
    concerns = [
        Concern(
            rule=finding.rule,
            severity=_severity(finding),
            path=path,
            line=bisect_right(line_ends, finding.start) + 1,
            excerpt=finding.excerpt,
        )
        for finding in scan_skill_file(text)
    ]
    # Of those that one name reports on one line, the most severe counts, and the first of these.
    by_severity = sorted(concerns, key=lambda item: item.severity == "caution")
    by_line = {(concern.rule, concern.line): concern for concern in reversed(by_severity)}
    return tuple(sorted(by_line.values(), key=lambda item: (item.line, item.rule)))


def _severity(finding: ScanFinding) -> Severity:
    """That of its rule, except that sending is dangerous, and that reading a `.env` is not."""
    if finding.rule == "reads secrets" and ".env" in finding.excerpt:
        return "caution"
    sends = any(word in finding.excerpt for word in ("curl", "wget", "nc ", "ncat", "http"))
    return "dangerous" if sends and finding.kind != "skill" else finding.severity


class GuardReport(msgspec.Struct, frozen=True, kw_only=True):
    """The guard's findings on a file or a folder."""

    path: str
    verdict: Verdict
    concerns: tuple[Concern, ...]


def examine(path: Path) -> GuardReport:
    """The guard's verdict on a skill's folder, or on one file. Raises `Rejected`, kind `usage`."""
    if path.is_dir():
        return _folder(path)
    if not path.is_file():
        raise Rejected(
            f"There is no file or folder {str(path)!r}.",
            kind="usage",
            hint="Give a skill's folder or a file.",
        )
    try:
        file = Disk(path.parent).file(SkillPlace("", ""), path.name)
    except UnusableText as error:
        raise Rejected(f"{path} cannot be scanned: {error}.", kind="usage") from error
    return _result(path, concerns_of({path.name: file}))


def _folder(path: Path) -> GuardReport:
    real = path.resolve()
    try:
        on_disk = Disk(real.parent).read(SkillPlace("", real.name))
    except OSError as error:
        raise Rejected(f"{path} cannot be scanned: {error.strerror}.", kind="usage") from error
    if on_disk is None:
        return _result(path, (_of(Problem(MAIN_FILE, "the folder is empty")),))
    concerns = (*map(_of, on_disk.problems), *concerns_of(on_disk.files))
    if MAIN_FILE not in on_disk.files:
        return _result(path, (*concerns, _of(Problem(MAIN_FILE, "there is none, so this is not a skill"))))
    try:
        front_matter.read(on_disk.files[MAIN_FILE].content)
    except Rejected as rejection:
        concerns = (*concerns, _of(Problem(MAIN_FILE, rejection.message)))
    return _result(path, concerns)


def _of(problem: Problem) -> Concern:
    return Concern(
        rule="cannot be used", severity="caution", path=problem.path, line=1, excerpt=problem.reason
    )


def _result(path: Path, concerns: tuple[Concern, ...]) -> GuardReport:
    return GuardReport(path=str(path), verdict=verdict(concerns), concerns=concerns)
