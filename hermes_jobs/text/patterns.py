"""Patterns that are compiled when they are first used: most commands use few of those that they import."""

from __future__ import annotations

import re
from typing import Any, cast


def compile_later(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` returns; an error in the pattern shows at its first use."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, attribute)
        return attribute
