"""Which models write their tool calls as text, told by name; all others take tools in the request."""

from __future__ import annotations

import re
from typing import Literal

ToolCalling = Literal["structured", "text"]

TEXT_MODELS = ("gemma", "llama", "phi", "smollm", "stablelm", "vicuna", "falcon", "olmo", "orca", "zephyr")
"""Families of which most servers' templates know no tools: a word of the name begins or ends so."""

_WORD = re.compile(r"[a-z]+")


def uses_text_tool_calls(model: str) -> ToolCalling:
    """`text` for a family of the table; the name's vendor part, as in `meta-llama/…`, does not count."""
    words = _WORD.findall(model.rpartition("/")[2].lower())
    return (
        "text"
        if any(word.startswith(TEXT_MODELS) or word.endswith(TEXT_MODELS) for word in words)
        else "structured"
    )
