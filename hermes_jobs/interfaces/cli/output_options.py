"""How a turn is shown, as its flags and the terminal have it."""

from __future__ import annotations

from typing import Literal

import msgspec


class OutputOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn is shown. `stream`: its text as it comes; `progress`: a line for each tool call;
    `quiet`: not a word beside the answer. `rich`: as Markdown, drawn while it grows."""

    form: Literal["text", "json", "jsonl"] = "text"
    stream: bool = False
    progress: bool = False
    quiet: bool = False
    rich: bool = False
