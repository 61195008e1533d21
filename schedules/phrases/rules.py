"""Rules of the grammar: a pattern, and what the words that match it say about when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from schedules.phrases.draft import TimingDraft
from schedules.phrases.tokens import Phrase, Sentence


class Found(NamedTuple):
    """What some words say, and the place after them.

    `firm`: the words can hardly be anything but timing; others (`Monday`, `9:30`) may belong to the task.
    """

    draft: TimingDraft
    end: int
    firm: bool = True


class Rule(NamedTuple):
    """`says` is what the words say, or a function that reads it off them.

    The function gives None where the words mean something else, and raises `Refusal` where they are no good.
    `after_timing`: the rule is only tried right after other timing.
    """

    pattern: str
    says: TimingDraft | Callable[[Phrase], Found | None]
    after_timing: bool = False


def read_first(
    rules: Iterable[Rule], sentence: Sentence, at: int, *, led: bool = False, leads: bool = False
) -> Found | None:
    """What the first rule that matches reads there. Raises `Refusal`. `led`, `leads`: see `Phrase`."""
    for rule in rules:
        phrase = sentence.match(rule.pattern, at) if led or not rule.after_timing else None
        if phrase is None:
            continue
        if isinstance(rule.says, TimingDraft):
            return Found(rule.says, phrase.end)
        if found := rule.says(phrase._replace(led=led, leads=leads)):
            return found
    return None
