"""One form for texts and queries: without case, accents and widths of letters. Keeps every length.

Scripts that are written without spaces between words (Chinese, Japanese, Thai, …) and Korean, whose words
carry their endings, are searched by characters; so are emoji. Which those are is known here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

IGNORED = "\u00ad"
"""Stands for what is written and not read: soft hyphens, joiners, variation selectors, accents, the vowels
of Arabic and Hebrew."""

_NOT_READ = {0x00AD, 0x0640, 0x200C, 0x200D, 0x2060, 0xFEFF}

UNSPACED = (
    "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u2e80-\u2fdf\u3005-\u3007\u3021-\u3035"
    "\u3038-\u30fa\u30fc-\u312f\u3131-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uaa60-\uaa7f"
    "\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
"""Letters of scripts without spaces: what stands between the brackets of a regular expression."""

PICTOGRAPHS = (
    "\u203c\u2049\u2139\u231a\u231b\u23e9-\u23fa\u24c2\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Emoji and their like, written in the same way."""

SIGNED_LETTERS = "\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
"""The scripts of India, whose vowels are signs on letters: no letters to Unicode, but parts of a word."""

WORD_CHARACTER = rf"(?:[^\W_{UNSPACED}]|[{SIGNED_LETTERS}])"
"""A letter or digit of a script with spaces, as a regular expression."""

WORD_CHARACTERS = rf"(?:[^\W_{UNSPACED}]++|[{SIGNED_LETTERS}]++)++"
"""As many of them as follow each other."""


@cache
def pattern(written: str) -> re.Pattern[str]:
    """The regular expression, made when it is first used: with these letters that takes milliseconds."""
    return re.compile(written)


def normal(text: str) -> str:
    """The text in its composed form, in which letters and accents are mostly one character, and ligatures
    are several."""
    if text.isascii():
        return text
    apart = pattern(_SEVERAL).sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return unicodedata.normalize("NFC", apart)


def fold(text: str) -> str:
    """The text in the form in which texts are compared, character for character as long as `normal(text)`."""
    if text.isascii():
        return text.lower().replace("\x00", " ")
    return pattern(_UNUSUAL).sub(_folded_run, normal(text)).lower()


# Ligatures, as in texts from PDF, and the narrow kana, whose accents stand apart.
_SEVERAL = "[\ufb00-\ufb17\ufef5-\ufefc\uff66-\uff9f]+"

# What is not the same folded or but a capital of ASCII: looking up every character costs ten times as much.
_UNUSUAL = "[^\x01-\x7f\u3001\u3002\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]+"


def _folded_run(run: re.Match[str]) -> str:
    return run[0].translate(_FOLDED)


class _Folded(dict[int, str]):
    """Each character's folded form, found when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _folded(chr(code))
        return folded


def _folded(character: str) -> str:
    code = ord(character)
    if code in _NOT_READ or 0xFE00 <= code <= 0xFE0F or _is_mark(character):
        return IGNORED
    if not code or unicodedata.category(character) in {"Co", "Cs"}:  # private ones are the index's own
        return " "
    parts = unicodedata.normalize("NFKD", character)
    base = "".join(part for part in parts if not _is_mark(part))
    plain = base if len(base) == 1 else character
    if ord(plain) in _NOT_READ:
        return IGNORED
    for form in (plain.upper().casefold(), plain.casefold(), plain.lower()):  # ı is the small I of Turkish
        if len(form) == 1:
            return form
    return plain


def _is_mark(character: str) -> bool:
    """Whether it is an accent, or a vowel that readers do without."""
    if unicodedata.category(character) not in {"Mn", "Me"}:
        return False
    return pattern(f"[{UNSPACED}{SIGNED_LETTERS}]").match(character) is None


_FOLDED = _Folded()
