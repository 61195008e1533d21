"""What a scan finds, and the rule that finds it."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, get_args

import msgspec

Kind = Literal["instruction", "theft", "persistence", "credential", "hidden"]
"""What a rule keeps out: words that steer the agent, taking secrets or sending them away, staying on a
machine, secrets themselves, and characters that nobody sees."""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Finding(msgspec.Struct, frozen=True):
    """One match: the rule's name for people, the words as they stand, and where (`text[start:end]`)."""

    rule: str
    excerpt: str
    kind: Kind
    start: int
    end: int


class Rule(msgspec.Struct, frozen=True):
    """What is looked for and by which name it is told of. Patterns are verbose and read no case.

    Every match holds one of the words `near`, in lower case: only around those the pattern is tried. A match
    does not count where `unless` fits it, or where `unless_after` fits what stands right before it.
    """

    name: str
    kind: Kind
    near: tuple[str, ...]
    pattern: str
    unless: str = ""
    unless_after: str = ""

    def excuses(self, words: str, before: str) -> bool:
        """Whether a match of these words, with that before it, does not count."""
        return bool(
            (self.unless and compiled(self.unless).search(words))
            or (self.unless_after and compiled(f"(?:{self.unless_after})$").search(before))
        )


def rule(kind: Kind, name: str, near: str, pattern: str, *, unless: str = "", unless_after: str = "") -> Rule:
    """A rule; `near` are words with blanks between."""
    return Rule(name, kind, tuple(near.split()), pattern, unless, unless_after)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule. Compiling all of them takes a tenth of a second, and few are ever wanted."""
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)
