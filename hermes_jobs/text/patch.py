"""Replacing a text within a text: where it stands, what is like it if it does not, and what changed."""

from __future__ import annotations

import difflib
import heapq
import re
from bisect import bisect_left
from dataclasses import dataclass

from hermes_jobs.errors import Rejected
from hermes_jobs.text.diff import SHOWN_LINE, cut_line, short_diff

NEAREST_LINES = 20_000  # of a longer file the rest is not compared
LISTED = 20
COMPARED = 50  # lines of two blocks


@dataclass(frozen=True, kw_only=True)
class Patched:
    """The new text, how many places were changed, and a short unified diff without file names."""

    text: str
    count: int
    diff: str


def patched(text: str, old: str, new: str, *, replace_all: bool) -> Patched:
    """Replace `old`, which must stand in the text exactly once unless `replace_all`.

    In a text with CRLF line endings, or some of them, both may be written with plain newlines: each line
    keeps its own ending. Raises `Rejected`.
    """
    if old == new:
        raise Rejected("old_string and new_string are the same: there is nothing to change.")
    old, new = _as_written_there(text, old, new)
    places = _places(text, old)
    spans: list[tuple[int, int]] = []
    if not places and "\n" in old:
        spans = _spans(text, _plain(old))
        places = [start for start, _ in spans]
    if not places:
        raise Rejected(f"old_string does not occur in the file. {_nearest(text, old)}")
    if len(places) > 1 and not replace_all:
        raise Rejected(
            f"old_string occurs {_number(places)} times, in the lines {_lines_of(text, places)}. "
            "Give more of the text around the one that is meant, or set replace_all."
        )
    if not spans:
        changed, count = text.replace(old, new), text.count(old)
    else:
        changed, count = _with_spans_replaced(text, spans, new), len(spans)
    return Patched(text=changed, count=count, diff=short_diff(text, changed))


def _spans(text: str, old: str) -> list[tuple[int, int]]:
    """Where a block with plain newlines stands in a text, whatever its line endings; without overlaps."""
    plain = _plain(text)
    ends = [match.start() - count for count, match in enumerate(re.finditer("\r\n", text))]
    starts: list[int] = []
    at = plain.find(old)
    while at >= 0:
        starts.append(at)
        at = plain.find(old, at + len(old))
    return [
        (start + bisect_left(ends, start), start + len(old) + bisect_left(ends, start + len(old)))
        for start in starts
    ]


def _with_spans_replaced(text: str, spans: list[tuple[int, int]], new: str) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], _with_endings_of(text[start:end], new)]
        done = end
    return "".join([*pieces, text[done:]])


def _plain(block: str) -> str:
    return block.replace("\r\n", "\n")


def _with_endings_of(there: str, new: str) -> str:
    """The new block with the line endings of the old one, line by line; further lines have its last one."""
    endings = re.findall(r"\r?\n", there)
    first, *lines = _plain(new).split("\n")
    ends = [*endings, *endings[-1:] * len(lines)]
    return first + "".join(f"{end}{line}" for end, line in zip(ends, lines, strict=False))


def _as_written_there(text: str, old: str, new: str) -> tuple[str, str]:
    """Both with the text's own line endings, where most of its lines end with CRLF."""
    if text.count("\r\n") * 2 <= text.count("\n"):
        return old, new
    there = tuple(block.replace("\r\n", "\n").replace("\n", "\r\n") for block in (old, new))
    return (there[0], there[1]) if there[0] in text else (old, new)


def _places(text: str, old: str) -> list[int]:
    """Where it begins, overlapping places too: of those, neither is the one that is meant.

    At most one more than are listed: each may take as long as reading the text."""
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and len(places) <= LISTED:
        places.append(at)
        at = text.find(old, at + 1)
    return places


def _number(places: list[int]) -> str:
    return str(len(places)) if len(places) <= LISTED else f"more than {LISTED}"


def _lines_of(text: str, places: list[int]) -> str:
    shown = [f"{text.count(chr(10), 0, at) + 1:,}" for at in places[:LISTED]]
    return ", ".join(shown) + (" and more" if len(places) > LISTED else "")


def _nearest(text: str, old: str) -> str:
    """The lines of the text that are most like those that were looked for, under their numbers."""
    if "\r" in text and "\n" not in text:
        return "Its lines end with a carriage return alone (\\r): write them so."
    lines = text.split("\n")[:NEAREST_LINES]
    old_lines = old.strip("\r\n").split("\n")
    start = _same_but_for_blanks(lines, old_lines)
    if start is not None:
        return f"These lines differ from it in blanks alone:\n{_numbered(lines, start, len(old_lines))}"
    start = _most_like(lines, old_lines)
    if start is None:
        return "Nothing in the file is like it: read the file."
    return f"The nearest there is:\n{_numbered(lines, start, len(old_lines))}"


def _same_but_for_blanks(lines: list[str], old_lines: list[str]) -> int | None:
    plain = "\n".join(["", *(" ".join(line.split()) for line in lines), ""])
    sought = "\n".join(["", *(" ".join(line.split()) for line in old_lines), ""])
    at = plain.find(sought) if sought.strip() else -1
    return plain.count("\n", 0, at) if at >= 0 else None


def _most_like(lines: list[str], old_lines: list[str]) -> int | None:
    """The line at which a block most like the wanted one begins, found by the wanted block's longest line."""
    anchor = max(range(len(old_lines)), key=lambda i: len(old_lines[i].strip()))
    matcher = difflib.SequenceMatcher(None, b=old_lines[anchor].strip()[:SHOWN_LINE], autojunk=False)

    def likeness(index: int) -> float:
        matcher.set_seq1(lines[index].strip()[:SHOWN_LINE])
        return 0.0 if matcher.real_quick_ratio() < 0.5 else matcher.quick_ratio()

    candidates = heapq.nlargest(LISTED, range(len(lines)), key=likeness)
    best, best_ratio = None, 0.5
    for index in candidates:
        start = max(0, index - anchor)
        ratio = _ratio(lines[start : start + len(old_lines)], old_lines)
        if ratio > best_ratio:
            best, best_ratio = start, ratio
    return best


def _ratio(block: list[str], sought: list[str]) -> float:
    """How much two blocks are alike, from 0 to 1: line by line, by their letters, in linear time."""
    pairs = list(zip(block[:COMPARED], sought[:COMPARED], strict=False))
    likenesses = [
        difflib.SequenceMatcher(None, some[:SHOWN_LINE], other[:SHOWN_LINE], autojunk=False).quick_ratio()
        for some, other in pairs
    ]
    return sum(likenesses) / max(len(sought[:COMPARED]), 1)


def _numbered(lines: list[str], start: int, count: int) -> str:
    shown = range(max(0, start - 1), min(len(lines), start + min(count, LISTED) + 1))
    return "\n".join(f"{i + 1:>5}  {cut_line(lines[i])}" for i in shown)
