"""JSON objects within the text of a model's answer, which may say something before and after them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MOST_STARTS = 100
"""Braces at which an object is looked for; what begins at each of them is read once more."""

_DECODER = json.JSONDecoder()


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects that can be read from the text, in order; not those within others."""
    at = 0
    for _ in range(MOST_STARTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield found
        at = end
