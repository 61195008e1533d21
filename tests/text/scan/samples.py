"""Texts that a pattern of the rules matches, and beginnings of such texts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from hermes_jobs.text.scan.rules import scan_rules

_OF_CATEGORY = {
    op.CATEGORY_WORD: "w7_",
    op.CATEGORY_SPACE: " \n",
    op.CATEGORY_DIGIT: "7",
    op.CATEGORY_NOT_SPACE: "s-",
    op.CATEGORY_NOT_WORD: "- ",
    op.CATEGORY_NOT_DIGIT: "x",
}
_OTHERS = "abcdefg xyz012-.\n"
REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}


def sample(choose: random.Random) -> str:
    """What a pattern of a rule matches, but for what it looks ahead to."""
    return _of_sequence(choose.choice(_parsed()), choose)


@cache
def _parsed() -> list[Any]:
    return [_parser.parse(tried.branch.pattern, tried.rule.flags) for tried in scan_rules().tried]


def _of_sequence(items: Iterable[tuple[Any, Any]], choose: random.Random) -> str:
    return "".join(_of_item(operation, argument, choose) for operation, argument in items)


def _of_item(operation: Any, argument: Any, choose: random.Random) -> str:
    if operation is op.LITERAL:
        return chr(argument)
    if operation is op.IN:
        return _of_set(argument, choose)
    if operation in {op.ANY, op.NOT_LITERAL}:
        return choose.choice(_OTHERS)
    if operation is op.BRANCH:
        return _of_sequence(choose.choice(argument[1]), choose)
    if operation is op.SUBPATTERN:
        return _of_sequence(argument[-1], choose)
    if operation is op.ATOMIC_GROUP:
        return _of_sequence(argument, choose)
    if operation in REPEATS:
        least, most, repeated = argument
        times = choose.choice((least, least, min(most, least + 1), min(most, least + 3)))
        return "".join(_of_sequence(repeated, choose) for _ in range(times))
    return ""


def _of_set(members: list[tuple[Any, Any]], choose: random.Random) -> str:
    if members[0][0] is op.NEGATE:
        return choose.choice(_OTHERS)
    kind, member = choose.choice(members)
    if kind is op.RANGE:
        return chr(choose.randint(*member))
    return choose.choice(_OF_CATEGORY[member]) if kind is op.CATEGORY else chr(member)
