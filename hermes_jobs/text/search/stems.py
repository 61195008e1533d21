"""Light stemming: which words of Latin script are forms of one another, near enough to find them by.

One ending at most is taken off, and only where enough of the word is left. The endings are those of English,
with the commonest of its neighbours (German, French, Spanish, Italian, Dutch). A stem need not be a word; it
is never shown.
"""

from __future__ import annotations

import re
from functools import lru_cache

SHORTEST = 4  # a shorter word is its own stem
ENDINGS = (
    *(("ings", 3), ("ing", 3), ("ied", 3), ("ies", 3), ("ers", 3), ("ed", 3), ("es", 3)),
    *(("en", 4), ("er", 4), ("ly", 4), ("s", 3), ("e", 3), ("n", 4), ("a", 4), ("o", 4), ("y", 3)),
)
"""An ending, and how many letters have to stand before it. The first that fits is taken."""

_LATIN = re.compile(r"[a-z\u00df\u00e6\u00f0\u00f8\u00fe\u0111\u0131\u0142\u0153]+")
_WRITTEN = ("", "s", "es", "ed", "e", "ing", "er", "ers", "y", "ies", "ied", "ly", "en", "n")
_DOUBLES = "bdgklmnprt"  # planned, running, bigger
_WRITTEN_DOUBLED = ("", "ed", "ing", "er", "s", "y")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """What the forms of a folded word have in common; the word itself where it is not of Latin script."""
    if len(word) < SHORTEST or _LATIN.fullmatch(word) is None:
        return word
    for ending, left in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= left and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) >= SHORTEST and word[-1] == word[-2] and word[-1] in _DOUBLES:
        word = word[:-1]
    return word[:-1] if len(word) >= SHORTEST and word[-1] == "i" else word


def forms(word: str) -> tuple[str, ...]:
    """The word first, then what is commonly written with the same stem."""
    base = stem(word)
    if len(word) < SHORTEST or _LATIN.fullmatch(word) is None:
        return (word,)
    written = [base + ending for ending in _WRITTEN]
    if base[-1] in _DOUBLES:
        written += [base + base[-1] + ending for ending in _WRITTEN_DOUBLED]
    return tuple(dict.fromkeys((word, *(each for each in written if stem(each) == base))))
