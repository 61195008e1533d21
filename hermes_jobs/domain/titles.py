"""What a session may be called, when two titles are the same name, and which characters a text may show."""

from __future__ import annotations

import re
import unicodedata

from hermes_jobs.domain.errors import Rejected

MAX_LENGTH = 100  # characters
# Escape sequences and control and bidi characters that a text could play with a terminal or a list by.
UNPRINTABLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

_CONTINUED = re.compile(r" #\d+$")


def printable(text: str) -> str:
    """The text without what a terminal would obey instead of showing; tabs and line ends stay."""
    return UNPRINTABLE.sub("", text)


def clean_title(title: str) -> str:
    """The title on one line, without control and bidi characters.

    Raises `Rejected`, kind `usage`, where nothing is left or it is longer than `MAX_LENGTH`.
    """
    clean = " ".join(printable(re.sub(r"\s", " ", title)).split())
    if not clean:
        raise Rejected("The title is empty.", kind="usage", hint="Give it a few words.")
    if len(clean) > MAX_LENGTH:
        raise Rejected(
            f"The title has {len(clean)} characters; at most {MAX_LENGTH} are allowed.",
            kind="usage",
            hint="Give a shorter one.",
        )
    return clean


def continued_title(title: str | None, number: int) -> str | None:
    """What the `number`th session of a lineage is called; null where the lineage has no title."""
    if title is None:
        return None
    return f"{_CONTINUED.sub('', title)[: MAX_LENGTH - 6]} #{number}"


def title_key(title: str) -> str:
    """Titles with the same key are the same name, whatever the case, the spaces and the form of letters."""
    return " ".join(unicodedata.normalize("NFKC", title).casefold().split())
