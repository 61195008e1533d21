"""Recognises a text that repeats itself: small models do, until the output limit ends it."""

from __future__ import annotations

WINDOW = 24
"""Characters of the parts that are compared, long enough to be the same by chance seldom."""
LEAST_NEW = 0.4
"""The least share of new parts in a text that is worth continuing."""
LEAST_TEXT = 200  # characters of the shortest text that is judged
SHORTEST_PIECE = 20  # characters that a continuation adds at least


def is_stalled(before: str, text: str) -> bool:
    """Whether a cut-off text, written after `before`, mostly repeats, or adds nothing to it."""
    earlier, piece = " ".join(before.split()), " ".join(text.split())
    if earlier and len(piece) < SHORTEST_PIECE:
        return True
    if len(piece) < LEAST_TEXT:
        return bool(earlier) and piece in earlier
    known, parts = _parts(earlier), [piece[at : at + WINDOW] for at in range(len(piece) - WINDOW)]
    return len(set(parts) - known) < LEAST_NEW * len(parts)


def _parts(text: str) -> set[str]:
    return {text[at : at + WINDOW] for at in range(len(text) - WINDOW)}
