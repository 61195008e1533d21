"""Characters that a person reading a text does not see, or that show it in another order than it has.

Sources: Unicode's Default_Ignorable_Code_Point and Bidi_Control. Where a script or an emoji needs one of
them, that one passes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from hermes_jobs.text.scan.findings import ScanFinding

RULE = "hidden characters"

_JOINERS = "\u200c\u200d"
_MARKS = "\u200e\u200f\u061c"  # the direction of what has none of its own
_EMBEDDINGS = "\u202a-\u202e\u2066-\u2069"
_FILLERS = "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
_OTHERS = "\u00ad\u034f\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb\U0001d173-\U0001d17a"
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"

_CLASS = f"{_JOINERS}{_MARKS}{_EMBEDDINGS}{_FILLERS}{_SELECTORS}{_TAGS}{_OTHERS}{_CONTROLS}"
_HIDDEN = re.compile(f"[{_CLASS}]+")
_SHOWN_ONLY = re.compile(f"[{_CLASS}]")

_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_NEEDED = re.compile(
    rf"""
    (?<=[{_EMOJI}\#*0-9])\ufe0f?(?:\u200d(?=[{_EMOJI}]))?       # 👩‍💻, ❤️, 1️⃣
    | (?<=[{_EMOJI}])\ufe0e                                      # the same sign as text
    | (?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{2,6}}\U000e007f   # 🏴󠁧󠁢󠁳󠁣󠁴󠁿
    | (?<=[\u3400-\u9fff\U00020000-\U000323af])[\U000e0100-\U000e01ef]               # forms of one Han sign
    | (?<=[\u0600-\u0fff\u1780-\u17ff])[{_JOINERS}](?=[\u0600-\u0fff\u1780-\u17ff])  # Arabic, Indic
    | (?<=[\u1820-\u18aa])[\u180b-\u180e]                        # forms of one Mongolian letter
    """,
    re.VERBOSE,
)
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")


def is_invisible(character: str) -> bool:
    """Whether the character leaves no trace where it stands."""
    return _SHOWN_ONLY.match(character) is not None


def hidden_characters(text: str) -> Iterator[ScanFinding]:
    """Each run of them, told by the names of its first few."""
    if not _HIDDEN.search(text):
        return
    marks_pass = _RIGHT_TO_LEFT.search(text) is not None
    needed = {at for match in _NEEDED.finditer(text) for at in range(*match.span())}
    for run in _HIDDEN.finditer(text):
        remaining = [
            at for at in range(*run.span()) if at not in needed and not (marks_pass and text[at] in _MARKS)
        ]
        if remaining:
            start, end = remaining[0], remaining[-1] + 1
            excerpt = " ".join(_named(text[at]) for at in remaining[:3]) + (
                " …" if len(remaining) > 3 else ""
            )
            yield ScanFinding(RULE, excerpt, "hidden", start, end)


def _named(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")
