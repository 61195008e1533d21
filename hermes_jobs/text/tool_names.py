"""Names of tools where nobody's texts are shown: in Flower, in metrics."""

from __future__ import annotations

import re

_BEHIND = re.compile(r"[^\w.-].*", re.ASCII | re.DOTALL)


def name_of_tool(written: str) -> str:
    """What of a called tool's name is a name: a model may write arguments, or any text, in its place."""
    return _BEHIND.sub("", written)
