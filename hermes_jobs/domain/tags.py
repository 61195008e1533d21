"""Tags in a text that arrives in pieces: where they stand, and what may yet become one.

A tag right after a backtick is spoken of, not used; the backtick is found with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


class Tags:
    """Opening and closing tags of these names, in any case."""

    def __init__(self, *names: str) -> None:
        self._pattern = re.compile(rf"(?P<tick>`?)<(?P<close>/?)(?:{'|'.join(names)})>", re.IGNORECASE)
        forms = [f"{tick}<{close}{name}>" for name in names for close in ("", "/") for tick in ("", "`")]
        self._longest = max(map(len, forms))
        self._beginnings = {form[:length] for form in forms for length in range(1, len(form))}

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """Each tag in order. Its groups `tick` and `close` hold a backtick and a slash, or nothing."""
        return self._pattern.finditer(text)

    def begun(self, text: str) -> int:
        """How many of the last characters may be the beginning of a tag."""
        low = text[-self._longest :].lower()
        return next((len(low) - at for at in range(len(low)) if low[at:] in self._beginnings), 0)
