"""What never runs, told from the text of a command alone, without its blanks."""

from __future__ import annotations

import re

_FORK_BOMB = re.compile(
    r"(?:while(?::|true|\[1\]|\(\(1\)\))|until(?:false|!true)|for\(\(;;\)\));{0,2}do(?:[^;&|]|>&){1,200}&done"
    r"|\$0(?:\||&(?!&))\$0|\bfork(?:\(\))?(?:while|until)"
    r"|(?:while\(?(?:1|[Tt]rue)\)?|loop|for\(;;\))[:{;]{0,2}(?:os\.|Process\.)?fork\b"
)
_CALLS_ITSELF_TWICE = re.compile(r"(?<![\w.])(?P<name>[\w:.]{1,40}+)(?:\||&(?!&))(?P=name)(?=[&;}])")
_DELETES_ROOT = re.compile(r"\brm-[rRf-][\w-]{0,80}/(?:\*|[;&|]|$)")


def raw_denial(text: str, *, parsed: bool) -> str | None:
    """The deny rule that a text without blanks matches; an unparsable text may match more of them."""
    squeezed = re.sub(r"\s+", "", text)
    if _FORK_BOMB.search(squeezed) or any(map(_is_in_itself, _CALLS_ITSELF_TWICE.finditer(squeezed))):
        return "fork bomb"
    if not parsed and _DELETES_ROOT.search(squeezed):
        return "deleting a whole system or home folder"
    return None


def _is_in_itself(calls: re.Match[str]) -> bool:
    """Whether these calls of a function are near the beginning of its definition."""
    begin = calls.start()
    _, definition, body = calls.string[max(0, begin - 250) : begin].rpartition(f"{calls['name']}(){{")
    return bool(definition) and "}" not in body
