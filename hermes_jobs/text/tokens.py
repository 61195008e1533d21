"""About how many tokens a text takes, for as long as no model has counted them.

What is weighed are bytes of UTF-8, which is what tokenizers join: four of them a token. So English has four
characters a token, Cyrillic and Arabic have two, and Chinese, Japanese and Korean a little more than one.
"""

from __future__ import annotations

CHARACTERS_A_TOKEN = 4  # of ASCII


def token_weight(text: str) -> int:
    """What a text weighs, in characters of ASCII."""
    return len(text) if text.isascii() else len(_bytes(text))


def tokens(text: str) -> int:
    """About how many tokens the text takes, rounded down."""
    return token_weight(text) // CHARACTERS_A_TOKEN


def head(text: str, most: int) -> str:
    """As much of a text's beginning as weighs no more than that."""
    return _bytes(text)[:most].decode("utf-8", "ignore")


def tail(text: str, most: int) -> str:
    """As much of a text's end as weighs no more than that; `most` is above zero."""
    return _bytes(text)[-most:].decode("utf-8", "ignore")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
