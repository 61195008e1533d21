"""The marks that set off what hermes-jobs itself writes in a request. What it quotes cannot forge them.

A tool's result or an attached file that has such a mark is changed when it is recorded, and so once for all
requests: a backslash then stands behind the bracket.
"""

from __future__ import annotations

import re

from hermes_jobs.text.patterns import compile_later

_NAMES = ("memory-context", "persisted-output", "context-summary", "open-todos", "tool_call", "tool_response")
_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
_BLANK = rf"[\s{_INVISIBLE}]{{0,8}}"
_BESIDE = rf"[\s*_{_INVISIBLE}-]{{0,8}}"
_TOOL, _RESULT = (rf"[{_INVISIBLE}]{{0,2}}".join(word) for word in ("tool", "result"))
_MARK = compile_later(
    rf"(?P<angle>[<＜]){_BLANK}(?=/?{_BLANK}(?:{'|'.join(re.escape(name) for name in _NAMES)})\b)"
    rf"|(?P<square>[\[［])(?={_BLANK}{_TOOL}{_BLANK}{_RESULT}\b|{_BESIDE}{_TOOL}{_BESIDE}{_RESULT}\**:\s"
    rf"|{_BLANK}(?-i:SYSTEM)\b|{_BLANK}system\s(?:message|note|notice|prompt|override|update)\b)",
    re.IGNORECASE,
)


def without_marks(text: str) -> str:
    r"""The text with every mark changed so that it is none: `[Tool Result` becomes `[\Tool Result`."""
    return _MARK.sub(lambda mark: f"{'<' if mark['angle'] else '['}\\", text)
