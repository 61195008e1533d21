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
            (self.kind == "instruction" and compiled(_MENTIONED).search(before))
            or (self.unless and compiled(self.unless).search(words))
            or (self.unless_after and compiled(f"(?:{self.unless_after})$").search(before))
        )


_MENTIONED = r"""
    \b(?: flag | detect | reject | report | refuse | block | spot | filter | deny | catch |
        (?:look|watch)(?:s|ing)?\s+for
    | phrases? | patterns? | strings? | texts? | attempts? | sentences? | keywords? | wordings? )\b
    [^.\n"'`«“‘]{0,40} ["'`«“‘] \s* $"""
"""Right before words that are quoted as something to look out for."""


def rule(kind: Kind, name: str, near: str, pattern: str, *, unless: str = "", unless_after: str = "") -> Rule:
    """A rule; `near` are words with blanks between."""
    return Rule(name, kind, tuple(near.split()), pattern, unless, unless_after)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule. Compiling all of them takes a tenth of a second, and few are ever wanted."""
    return re.compile(bounded(pattern), re.IGNORECASE | re.VERBOSE)


MOST_REPEATS = 100
"""Times that anything in a rule may repeat: with it, what a try costs does not grow with the text."""

_REPEAT = re.compile(r"\\. | \[ \^? \]? (?: \\. | [^\]\\] )* \] | [*+] | \{(\d*),\}", re.VERBOSE | re.DOTALL)


def bounded(pattern: str) -> str:
    """The pattern with an upper bound for each repeat that has none."""

    def bound(found: re.Match[str]) -> str:
        match found[0]:
            case "*":
                return f"{{0,{MOST_REPEATS}}}"
            case "+":
                return f"{{1,{MOST_REPEATS}}}"
            case open_end if open_end.startswith("{"):
                return f"{{{found[1] or 0},{MOST_REPEATS + int(found[1] or 0)}}}"
            case other:
                return other

    return _REPEAT.sub(bound, pattern)
