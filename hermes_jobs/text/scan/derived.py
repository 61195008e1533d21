"""What is derived from the tables once, for `kept`: rules in branches, the lexicon, and all patterns.

A branch is an alternative at the top of a rule's pattern. It has `needs`: groups of words, of each of which
every match contains one. In most texts most branches lack one, and are not searched for. And it has `starts`:
words of which every match begins with one, so that it is tried only there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import msgspec

from hermes_jobs.text.scan.kept import Key
from hermes_jobs.text.scan.lexicon import read_lexicon
from hermes_jobs.text.scan.rules import (
    ALL_FILES,
    EXCUSE_FLAGS,
    Branch,
    ScanRule,
    at_end,
    bounded,
    read_common,
    read_rules,
)
from hermes_jobs.text.scan.starts import Item, gaps, starts

Words = frozenset[str]
MOST_WORDS = 400  # of a group
MOST_JOINED = 64  # combinations of two groups that follow each other
SHORTEST = 2  # letters of the shortest word of a group that is worth a look


def derived() -> tuple[dict[str, object], set[Key]]:
    """The tables by name, of types that `marshal` knows; and the patterns that are searched for."""
    rules = {name: tuple(map(_in_branches, read_rules(name))) for name in ALL_FILES}
    patterns = {key for each in rules.values() for rule in each for key in rule.patterns()}
    tables: dict[str, object] = {
        name: [_plain(msgspec.structs.astuple(rule)) for rule in each] for name, each in rules.items()
    }
    warned_of = at_end(read_common()["warned_of"])
    patterns.add((bounded(warned_of), EXCUSE_FLAGS))
    return {**tables, "warned_of": warned_of, "lexicon": _plain(read_lexicon())}, patterns


def _in_branches(rule: ScanRule) -> ScanRule:
    branches = tuple(_branch(bounded(each), rule.flags) for each in alternatives(rule.pattern))
    return msgspec.structs.replace(rule, branches=branches)


def _branch(pattern: str, flags: int) -> Branch:
    parsed = _parser.parse(pattern, flags)
    return Branch(pattern, needs(parsed), starts(parsed), gaps(parsed))


_TOKEN = re.compile(r"\\. | \[ \^? \]? (?: \\. | [^\]\\] )* \] | [()|]", re.VERBOSE | re.DOTALL)


def alternatives(pattern: str) -> list[str]:
    """The alternatives at the top of a pattern."""
    starts, depth = [0], 0
    for token in _TOKEN.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token[0] == "|" and not depth:
            starts.append(token.end())
    ends = [start - 1 for start in starts[1:]] + [len(pattern)]
    return [pattern[start:end] for start, end in zip(starts, ends, strict=True)]


def needs(parsed: Iterable[Item]) -> tuple[tuple[str, ...], ...]:
    """Groups of words in lower case; every match of a parsed pattern contains one of each."""
    groups = _of_sequence(parsed)
    return tuple(
        dict.fromkeys(tuple(sorted(group)) for group in groups if group and _shortest(group) >= SHORTEST)
    )


def _shortest(words: Words) -> int:
    return min(map(len, words))


def _of_sequence(items: Iterable[Item]) -> list[Words | None]:
    """What follows each other: words of which one is there, or None for anything."""
    joined: list[Words | None] = []
    for item in items:
        for words in _of_item(*item):
            last = joined[-1] if joined else None
            if words and last and len(words) * len(last) <= MOST_JOINED:
                joined[-1] = frozenset(one + other for one in last for other in words)
            else:
                joined.append(words)
    return joined


def _of_item(operation: Any, argument: Any) -> list[Words | None]:
    if operation is op.LITERAL:
        return [frozenset({chr(argument).lower()})]
    if operation is op.IN and len(argument) <= 4 and all(kind is op.LITERAL for kind, _ in argument):
        return [frozenset(chr(letter).lower() for _, letter in argument)]
    if operation in {op.AT, op.ASSERT, op.ASSERT_NOT}:
        return []
    if operation is op.SUBPATTERN:
        return _of_sequence(argument[-1])
    if operation is op.BRANCH:
        return _of_branches([_of_sequence(each) for each in argument[1]])
    if operation in {op.MAX_REPEAT, op.MIN_REPEAT}:
        least, most, repeated = argument
        if least:
            return [*_of_sequence(repeated), *([None] if most > 1 else [])]
        inner = _of_sequence(repeated)
        if most == 1 and len(inner) == 1 and inner[0]:
            return [inner[0] | {""}]
    return [None]


def _of_branches(branches: list[list[Words | None]]) -> list[Words | None]:
    """The words of the alternatives: whole ones where each is a word, else the best group of each."""
    if all(len(each) <= 1 and all(each) for each in branches):
        words = frozenset[str]().union(*(each[0] or () if each else ("",) for each in branches))
        return [words if len(words) <= MOST_WORDS else None]
    best = [max((group for group in each if group), key=_shortest, default=None) for each in branches]
    if not all(group and _shortest(group) for group in best):
        return [None]
    words = frozenset[str]().union(*(group for group in best if group))
    return [None, words if len(words) <= MOST_WORDS else None, None]


def _plain(value: object) -> object:
    """Tuples in the place of what `marshal` does not know."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return dict(value) if isinstance(value, Mapping) else value
