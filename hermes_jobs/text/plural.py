"""Numbers of things, as they are said."""

from __future__ import annotations


def pluralize(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`; `many` is the plural where no `s` makes it."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
