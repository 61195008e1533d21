"""Completion of words with colons, such as addresses, in bash: it splits them, and completes a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class


class BashWords(BashComplete):
    """click's completion for bash, with words as they were typed."""

    _typed = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and that one."""
        before, incomplete = super().get_completion_args()
        *args, whole = joined([*before, incomplete])
        if whole != incomplete:
            self._typed = whole[: whole.rfind(":") + 1]
        return args, whole

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """The replacement of the part that bash completes."""
        return f"{item.type},{str(item.value).removeprefix(self._typed)}"


def joined(words: Sequence[str]) -> list[str]:
    """The words without the splits at colons: `a`, `:`, `b` is one."""
    found: list[str] = []
    for word, before in zip(words, ("", *words), strict=False):
        if found and (_is_split(word) or _is_split(before)):
            found[-1] += word
        else:
            found.append(word)
    return found


def _is_split(word: str) -> bool:
    return set(word) == {":"}


def use_bash_words() -> None:
    """Register the completion in click."""
    add_completion_class(BashWords)
