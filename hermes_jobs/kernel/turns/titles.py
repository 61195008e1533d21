"""Titles of sessions: cleaning, uniqueness, continuation numbers; and which characters are printable."""

from __future__ import annotations

import re
import unicodedata

from hermes_jobs.errors import Rejected

MAX_LENGTH = 100  # characters
# Escape sequences, and control and bidi characters that could manipulate a terminal or a list.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
UNPRINTABLE = re.compile(rf"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|{_CONTROL}")

# Invisible characters: soft hyphens, fillers, zero-width spaces, tags, the blank Braille cell.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_HIDDEN = re.compile(f"{_CONTROL}|{_UNSEEN.pattern}|[{_JOINERS}\u2028\u2029]")
_JOINED = {"Lo", "Mn", "Mc", "So", "Sk"}  # Persian and Indic letters, parts of an emoji
_NUMBERED = re.compile(r"(?P<name>.+) #(?P<number>\d{1,4})")
_NUMBER_LENGTH = len(" #9999")


def printable(text: str) -> str:
    """The text without terminal control characters; tabs and line ends stay."""
    return UNPRINTABLE.sub("", text)


def revealed(text: str) -> str:
    """The text with escapes for what is not seen or would be obeyed: a question shows what runs.

    Tabs and line ends stay.
    """
    return _HIDDEN.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def seen(text: str) -> str:
    """The text without zero-width characters; joiners stay where a script or an emoji needs them."""
    text = _UNSEEN.sub("", text)
    if not any(joiner in text for joiner in _JOINERS):
        return text
    return "".join(
        each
        for at, each in enumerate(text)
        if each not in _JOINERS or _joins(text[at - 1 : at], text[at + 1 :])
    )


def _joins(before: str, after: str) -> bool:
    ends = (before[-1:], after[:1])
    return all(char and unicodedata.category(char) in _JOINED for char in ends)


def clean_title(title: str) -> str:
    """The title on one line, without control, bidi and invisible characters.

    Raises `Rejected`, kind `usage`, if nothing is left or it is longer than `MAX_LENGTH`.
    """
    clean = " ".join(seen(printable(re.sub(r"\s", " ", title))).split())
    if not any(unicodedata.category(char)[0] in "LNPS" for char in clean):
        raise Rejected("The title is empty.", kind="usage", hint="Give it a few words.")
    if len(clean) > MAX_LENGTH:
        raise Rejected(
            f"The title has {len(clean)} characters; at most {MAX_LENGTH} are allowed.",
            kind="usage",
            hint="Give a shorter one.",
        )
    return clean


def continued_title(named: str | None, number: int) -> str | None:
    """The title of the lineage's session with that number; None where the lineage has no title."""
    return None if named is None else f"{named[: MAX_LENGTH - _NUMBER_LENGTH]} #{number}"


def given_title(title: str, named: str | None) -> str:
    """The title given to the lineage if its newest session is called `title`, which may be the old title with
    a continuation number.
    """
    return named if named is not None and number_of(title, named) else title


def number_of(title: str, named: str) -> int | None:
    """The continuation number in a title of the lineage; None if it has none."""
    match = _NUMBERED.fullmatch(title)
    if match is None or title_key(match["name"]) != title_key(named[: MAX_LENGTH - _NUMBER_LENGTH]):
        return None
    return int(match["number"])


def numbered(title: str) -> str | None:
    """The title without its continuation number; None where it has no number."""
    match = _NUMBERED.fullmatch(title)
    return match["name"] if match else None


def title_key(title: str) -> str:
    """The key under which titles are unique: case, spaces and Unicode form do not count."""
    text = unicodedata.normalize("NFKC", title).casefold()
    return " ".join("".join(char for char in text if unicodedata.category(char) != "Cf").split())
