"""Unified diffs of two texts, as plain lines: colours are added where they are shown."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

CONTEXT = 3  # unchanged lines shown around a change
DIFF_CHARS = 4_000  # of a short diff
DIFF_LINES = 5_000  # of more changed lines no diff is made
SHOWN_LINE = 300  # characters of a line in a short diff
NO_NEWLINE = "\\ No newline at end of file"
NO_FILE = "/dev/null"


def file_diff(path: str, before: str | None, after: str | None) -> list[str]:
    """The unified diff of one file in full, its lines without line endings; empty where nothing changed.

    None stands for a file that does not exist. Texts with more than `DIFF_LINES` changed lines are told by
    their number of lines alone.
    """
    if before == after:
        return []
    old = NO_FILE if before is None else f"a/{path}"
    new = NO_FILE if after is None else f"b/{path}"
    head = [f"--- {old}", f"+++ {new}"]
    return [*head, *_diff(_lines(before or ""), _lines(after or ""))]


def changed_lines(diff: Sequence[str]) -> tuple[int, int]:
    """How many lines a `file_diff` adds, and how many it removes."""
    signs = [line[:1] for line in diff[2:]]
    return signs.count("+"), signs.count("-")


def short_diff(before: str, after: str) -> str:
    """The unified diff of two texts that have most in common, at most `DIFF_CHARS` of it."""
    return bounded(_diff(before.split("\n"), after.split("\n")))


def bounded(diff: Sequence[str], most: int = DIFF_CHARS) -> str:
    """The beginning of a diff: at most so many characters, and how many lines follow."""
    lines = [cut_line(line) for line in diff]
    available = most
    for count, line in enumerate(lines):
        available -= len(line) + 1
        if available < 0:
            return "\n".join([*lines[:count], f"(… {len(lines) - count:,} more lines of the diff)"])
    return "\n".join(lines)


def cut_line(line: str) -> str:
    """The line without a carriage return at its end, and at most `SHOWN_LINE` characters of it."""
    line = line.removesuffix("\r")
    return line if len(line) <= SHOWN_LINE else f"{line[:SHOWN_LINE]}…"


def _lines(text: str) -> list[str]:
    """The lines of a file. A last one without a line ending is told apart from the same one with it."""
    *complete, rest = text.split("\n")
    return [*complete, f"{rest}\n{NO_NEWLINE}"] if rest else complete


def _diff(old: Sequence[str], new: Sequence[str]) -> list[str]:
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    skipped = max(0, head - CONTEXT)
    a = old[skipped : len(old) - max(0, tail - CONTEXT)]
    b = new[skipped : len(new) - max(0, tail - CONTEXT)]
    if min(len(a), len(b)) and max(len(a), len(b)) > DIFF_LINES:
        return [f"({len(a):,} lines became {len(b):,}, from line {skipped + 1:,} on.)"]
    matcher = difflib.SequenceMatcher(None, a, b)
    return [line for group in matcher.get_grouped_opcodes(CONTEXT) for line in _hunk(a, b, group, skipped)]


def _common(some: Sequence[str], others: Sequence[str]) -> int:
    pairs = enumerate(zip(some, others, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(some), len(others)))


_Opcode = tuple[str, int, int, int, int]


def _hunk(a: Sequence[str], b: Sequence[str], group: Sequence[_Opcode], skipped: int) -> Iterator[str]:
    _, a1, _, b1, _ = group[0]
    _, _, a2, _, b2 = group[-1]
    yield f"@@ -{_range(a1, a2, skipped)} +{_range(b1, b2, skipped)} @@"
    for kind, i1, i2, j1, j2 in group:
        shown = [(" ", a[i1:i2])] if kind == "equal" else [("-", a[i1:i2]), ("+", b[j1:j2])]
        for sign, lines in shown:
            for line in lines:
                yield from f"{sign}{line}".split("\n")


def _range(start: int, end: int, skipped: int) -> str:
    """Where a hunk stands: its first line, from 1 on, and how many; of none, the line before them."""
    first = start + skipped + (end > start)
    return f"{first},{end - start}"
