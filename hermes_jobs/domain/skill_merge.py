"""Two texts that began as one: brought together line by line, so that nobody's words are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

Lines = Sequence[str]
Span = tuple[int, int, int, int, int, int]  # from and to in the base, in ours, in theirs


Meet = Callable[[Lines, Lines], Lines]
"""What becomes of lines that both changed: ours and theirs, differently."""


def merged(base: str, ours: str, theirs: str) -> str:
    """What both made of the base. Where both changed the same lines, ours stand before theirs."""
    return _merged(base, ours, theirs, _both)


def overridden(base: str, ours: str, theirs: str) -> str:
    """What both made of the base. Where both changed the same lines, theirs stand."""
    return _merged(base, ours, theirs, lambda _mine, other: other)


def _merged(base: str, ours: str, theirs: str, meet: Meet) -> str:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    return "".join(line for span in _spans(*lines) for line in _resolved(span, *lines, meet=meet))


def nearest(texts: Iterable[str], to: str) -> str | None:
    """The text that has the most lines in common with another, the last among equals; null of none."""
    wanted = Counter(to.splitlines())

    def in_common(text: str) -> float:
        lines = Counter(text.splitlines())
        size = max(lines.total() + wanted.total(), 1)
        return (lines & wanted).total() / size

    best, best_share = None, -1.0
    for text in texts:
        share = in_common(text)
        if share >= best_share:
            best, best_share = text, share
    return best


def _spans(base: Lines, ours: Lines, theirs: Lines) -> Iterator[Span]:
    """The three texts in pieces: those that all have, and between them those that somebody changed."""
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


def _matches(some: Lines, others: Lines) -> list[tuple[int, int, int]]:
    blocks = SequenceMatcher(None, some, others).get_matching_blocks()
    return [(block.a, block.b, block.size) for block in blocks if block.size]


def _resolved(span: Span, base: Lines, ours: Lines, theirs: Lines, *, meet: Meet) -> Lines:
    was, mine, other = base[span[0] : span[1]], ours[span[2] : span[3]], theirs[span[4] : span[5]]
    if other in (mine, was):
        return mine
    if mine == was:
        return other
    return meet(mine, other)


def _both(mine: Lines, other: Lines) -> Lines:
    """The lines of both, those that begin or end both alike once; what holds the other stands for it."""
    if _holds(mine, other):
        return mine
    if _holds(other, mine):
        return other
    head = next((i for i, pair in enumerate(zip(mine, other, strict=False)) if pair[0] != pair[1]), 0)
    rest = list(other[head:])
    tail = 0
    while tail < min(len(mine) - head, len(rest)) and mine[len(mine) - tail - 1] == rest[-tail - 1]:
        tail += 1
    mine_end = len(mine) - tail
    return [*_ended(mine[:mine_end]), *_ended(rest[: len(rest) - tail]), *mine[mine_end:]]


def _holds(lines: Lines, others: Lines) -> bool:
    """Whether the others stand among the lines, one after the other in a row."""
    wanted = [line.rstrip("\r\n") for line in others]
    there = [line.rstrip("\r\n") for line in lines]
    return any(there[at : at + len(wanted)] == wanted for at in range(len(there) - len(wanted) + 1))


def _ended(lines: Lines) -> Lines:
    """The lines, the last one with a line end, so that another can follow it."""
    if not lines or lines[-1].endswith(("\n", "\r")):
        return lines
    return [*lines[:-1], f"{lines[-1]}\n"]
