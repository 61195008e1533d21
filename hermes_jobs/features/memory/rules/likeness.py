"""Similar entries, found by their words.

The words of an entry are the roots of `text.search.question.roots`, so that their forms do not count.
"""

from __future__ import annotations

FEWEST = 3  # the fewest words of an entry that is compared by its words
LONGER = 2  # the largest ratio of words of an entry that contains another
ALIKE = 0.6  # the share of common words above which two entries are about the same subject


def contains(own: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the first has all words of the other, and not many more."""
    return len(other) >= FEWEST and other <= own and len(own) <= LONGER * len(other)


def share(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of two entries that both have."""
    both = len(one & other)
    return both / max(1, len(one) + len(other) - both)


def are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two entries have most of their words in common."""
    return min(len(one), len(other)) >= FEWEST and share(one, other) >= ALIKE
