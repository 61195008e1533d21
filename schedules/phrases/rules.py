"""Rules of the grammar: a pattern, and the part of a timing that its match gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from schedules.phrases.draft import TimingDraft
from schedules.phrases.tokens import Phrase, Sentence


class TimingFragment(NamedTuple):
    """What some words say, and the place after them.

    `firm`: the words can hardly be anything but timing; others (`Monday`, `9:30`) may belong to the task.
    """

    draft: TimingDraft
    end: int
    firm: bool = True


class PhraseRule(NamedTuple):
    """`says` is what the words say, or a function that reads it off them.

    The function returns a fragment where it ends elsewhere than the pattern, or where `firm` depends on the
    words; None where the words mean something else. It raises `Refusal` where they are impossible or
    ambiguous. `after_timing`: the rule is only tried right after other timing.
    """

    pattern: str
    says: TimingDraft | Callable[[Phrase], TimingDraft | TimingFragment | None]
    after_timing: bool = False
    firm: bool = True


def read_first(
    rules: Iterable[PhraseRule], sentence: Sentence, at: int, *, led: bool = False, leads: bool = False
) -> TimingFragment | None:
    """What the first rule that matches reads there. Raises `Refusal`. `led`, `leads`: see `Phrase`."""
    for rule in rules:
        phrase = sentence.match(rule.pattern, at) if led or not rule.after_timing else None
        if phrase is None:
            continue
        says = rule.says
        read = says if isinstance(says, TimingDraft) else says(phrase._replace(led=led, leads=leads))
        if read is not None:
            return TimingFragment(read, phrase.end, rule.firm) if isinstance(read, TimingDraft) else read
    return None
