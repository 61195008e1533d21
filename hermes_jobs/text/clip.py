"""Shortens texts for people: to a number of characters, or to one line."""

from __future__ import annotations


def clip(text: str, most: int) -> str:
    """The text, at most `most` characters of it; a cut is marked with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def one_line(text: str, most: int) -> str:
    """The text on one line, with single spaces, and clipped."""
    return clip(" ".join(text.split()), most)
