"""Tags in a text that arrives in pieces: where they stand, and what may yet become one.

A tag right after a backtick is spoken of, not used; the backtick is found with it.
"""

from __future__ import annotations

import re


class Tags:
    """Opening and closing tags of these names, in any case."""

    def __init__(self, *names: str) -> None:
        self._pattern = re.compile(rf"(?P<tick>`?)<(?P<close>/?)(?:{'|'.join(names)})>", re.IGNORECASE)
        forms = [f"{tick}<{close}{name}>" for name in names for close in ("", "/") for tick in ("", "`")]
        self._longest = max(map(len, forms))
        self._beginnings = {form[:length] for form in forms for length in range(1, len(form))}

    def split(self, text: str, *, final: bool) -> tuple[list[str | re.Match[str]], str]:
        """The text between tags and the tags, in order; and the end of it that may yet become a tag.

        A tag's groups `tick` and `close` hold a backtick and a slash, or nothing. Where the text is `final`,
        nothing becomes anything.
        """
        pieces: list[str | re.Match[str]] = []
        at = 0
        for tag in self._pattern.finditer(text):
            pieces += [text[at : tag.start()], tag]
            at = tag.end()
        cut = len(text) if final else len(text) - self._begun(text[at:])
        return [*pieces, text[at:cut]], text[cut:]

    def _begun(self, text: str) -> int:
        """How many of the last characters may be the beginning of a tag."""
        low = text[-self._longest :].lower()
        return next((len(low) - at for at in range(len(low)) if low[at:] in self._beginnings), 0)
