"""Merges two texts that were changed from one, line by line, without losing changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

Lines = Sequence[str]
Span = tuple[int, int, int, int, int, int]  # from and to in the base, in ours, in theirs


Meet = Callable[[Lines, Lines, Lines], Lines]
"""What becomes of lines that both changed: the base's, ours and theirs, differently."""


def merge(base: str, ours: str, theirs: str) -> str:
    """What both made of the base. Where both changed the same lines, both forms stand."""
    return _merged(base, ours, theirs, _both)


def conflicts(base: str, ours: str, theirs: str) -> str:
    """What both made of the base. Where both changed the same lines, theirs stand."""
    return _merged(base, ours, theirs, lambda _was, _mine, other: other)


def is_conflict(base: str, ours: str, theirs: str) -> bool:
    """Whether both changed a line of the base differently, or one changed what the other removed."""
    are_conflicts: list[bool] = []

    def meet(was: Lines, mine: Lines, other: Lines) -> Lines:
        are_conflicts.append(bool(frozenset(was).difference(mine, other)))
        return mine

    _merged(base, ours, theirs, meet)
    return any(are_conflicts)


def _merged(base: str, ours: str, theirs: str, meet: Meet) -> str:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    return "".join(line for span in _spans(*lines) for line in _resolved(span, *lines, meet=meet))


def nearest(texts: Iterable[str], to: str) -> str | None:
    """The text that has the most lines in common with another, the last among equals; None of none."""
    target_lines = Counter(to.splitlines())

    def in_common(text: str) -> float:
        lines = Counter(text.splitlines())
        size = max(lines.total() + target_lines.total(), 1)
        return (lines & target_lines).total() / size

    best, best_share = None, -1.0
    for text in texts:
        share = in_common(text)
        if share >= best_share:
            best, best_share = text, share
    return best


def _spans(base: Lines, ours: Lines, theirs: Lines) -> Iterator[Span]:
    """The three texts in pieces: the common ones, and between them those that were changed."""
    at = (0, 0, 0)
    for start, size, in_ours, in_theirs in _common(base, ours, theirs):
        yield at[0], start, at[1], in_ours, at[2], in_theirs
        yield start, start + size, in_ours, in_ours + size, in_theirs, in_theirs + size
        at = (start + size, in_ours + size, in_theirs + size)
    yield at[0], len(base), at[1], len(ours), at[2], len(theirs)


def _common(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[int, int, int, int]]:
    """Lines of the base that stand in both: where, how many, and where they stand there."""
    left, right = _matches(base, ours), _matches(base, theirs)
    i = j = 0
    while i < len(left) and j < len(right):
        (a, in_ours, a_size), (b, in_theirs, b_size) = left[i], right[j]
        start, end = max(a, b), min(a + a_size, b + b_size)
        if start < end:
            yield start, end - start, in_ours + start - a, in_theirs + start - b
        if a + a_size < b + b_size:
            i += 1
        else:
            j += 1


MOST_COMPARED = 4_000
"""Lines of a text that are compared with all of another: `SequenceMatcher` takes their square in time."""


def _matches(some: Lines, others: Lines) -> list[tuple[int, int, int]]:
    """The common lines, in order; of very long texts those that both begin and end with."""
    if max(len(some), len(others)) <= MOST_COMPARED:
        blocks = SequenceMatcher(None, some, others).get_matching_blocks()
        return [(block.a, block.b, block.size) for block in blocks if block.size]
    head = _alike(some, others)
    tail = _alike(some[head:][::-1], others[head:][::-1])
    ends = ((0, 0, head), (len(some) - tail, len(others) - tail, tail))
    return [block for block in ends if block[2]]


def _resolved(span: Span, base: Lines, ours: Lines, theirs: Lines, *, meet: Meet) -> Lines:
    was, mine, other = base[span[0] : span[1]], ours[span[2] : span[3]], theirs[span[4] : span[5]]
    if other in (mine, was):
        return mine
    if mine == was:
        return other
    return meet(was, mine, other)


def _both(was: Lines, mine: Lines, other: Lines) -> Lines:
    """The lines of both, less those of the base that one side removed and the other left as they were.

    Theirs stand where such a line of ours stood, else behind ours; what both begin or end with stands once.
    """
    removed, removed_by_other = _removed(was, mine, other), _removed(was, other, mine)
    ours = [line for line in mine if line not in removed]
    theirs = [line for line in other if line not in removed_by_other]
    if _holds(ours, theirs):
        return ours
    if _holds(theirs, ours):
        return theirs
    head = _alike(ours, theirs)
    tail = _alike(ours[head:][::-1], theirs[head:][::-1])
    end = len(ours) - tail
    at = next((i for i, line in enumerate(mine) if line in removed), end)
    at = min(max(at, head), end)
    added = theirs[head : len(theirs) - tail]
    return [*_ended(ours[:at]), *_ended(added), *_ended(ours[at:end]), *ours[end:]]


def _alike(some: Lines, others: Lines) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(some), len(others)))


def _removed(was: Lines, mine: Lines, other: Lines) -> frozenset[str]:
    """The lines of ours that are the base's, and that the other side does not have."""
    return frozenset(was).intersection(mine).difference(other)


def _holds(lines: Lines, others: Lines) -> bool:
    """Whether the others stand among the lines, one after the other in a row."""
    ends = "\r\n"
    expected, there = ("".join(f"{line.rstrip(ends)}\n" for line in each) for each in (others, lines))
    return f"\n{expected}" in f"\n{there}"


def _ended(lines: Lines) -> Lines:
    """The lines, the last one with a line end, so that another can follow it."""
    if not lines or lines[-1].endswith(("\n", "\r")):
        return lines
    return [*lines[:-1], f"{lines[-1]}\n"]
