"""How the matches of a parsed pattern begin, and how much of a text one try may go through."""

from __future__ import annotations

import string
from collections.abc import Iterable
from re import _constants as op  # type: ignore[attr-defined]
from typing import Any

Item = tuple[Any, Any]
"""An operation and its argument, as `re._parser` makes them."""

Start = tuple[str, bool]
"""What a match may begin with, and whether it is all that was looked at, so that more can follow."""
Starts = frozenset[Start]

MOST_STARTS = 400  # of a pattern
LONGEST_START = 12  # letters that are told apart
_TOO_FREQUENT = frozenset(("", " ", *string.ascii_lowercase, *string.digits))
_UNKNOWN: Starts = frozenset({("", False)})
_NOTHING: Starts = frozenset({("", True)})
_BLANK: Starts = frozenset((chr(code), False) for code in range(0x3001) if chr(code).isspace())
_A_BLANK = [(op.IN, [(op.CATEGORY, op.CATEGORY_SPACE)])]
_REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}


def starts(parsed: Iterable[Item]) -> tuple[str, ...]:
    """Words in lower case; every match begins with one. None where that is not known, or is a letter."""
    found = {text for text, _ in _of_sequence(parsed)}
    return () if found & _TOO_FREQUENT else tuple(sorted(found))


def _of_sequence(items: Iterable[Item]) -> Starts:
    found = _NOTHING
    for operation, argument in items:
        open_ends = [text for text, is_open in found if is_open]
        if not open_ends:
            break
        following = _of_item(operation, argument)
        if following is _BLANK and min(map(len, open_ends)) > 1:
            following = _UNKNOWN  # a word is told apart without the blank that follows it
        if len(open_ends) * len(following) + len(found) > MOST_STARTS:
            following = _UNKNOWN
        joined = {(text + more, is_open) for text in open_ends for more, is_open in following}
        found = _shortest({*(each for each in found if not each[1]), *joined})
    return found


def _shortest(found: set[Start]) -> Starts:
    """Without those that begin with another one."""
    ended = {text[:LONGEST_START] for text, is_open in found if not is_open or len(text) >= LONGEST_START}

    def is_told(text: str) -> bool:
        return any(text[:length] in ended for length in range(len(text)))

    opened = {(text, True) for text, is_open in found if is_open and text not in ended and not is_told(text)}
    return frozenset({*opened, *((text, False) for text in ended if not is_told(text))})


def _of_item(operation: Any, argument: Any) -> Starts:
    found = _UNKNOWN
    if operation is op.LITERAL:
        found = frozenset({(chr(argument).lower(), True)})
    elif operation is op.IN and len(argument) <= 8 and all(kind is op.LITERAL for kind, _ in argument):
        found = frozenset((chr(letter).lower(), True) for _, letter in argument)
    elif operation in {op.AT, op.ASSERT, op.ASSERT_NOT}:
        found = _NOTHING
    elif operation is op.SUBPATTERN:
        found = _of_sequence(argument[-1])
    elif operation is op.ATOMIC_GROUP:
        found = _of_sequence(argument)
    elif operation is op.BRANCH:
        found = _shortest(set().union(*map(_of_sequence, argument[1])))
    elif operation in _REPEATS:
        found = _of_repeat(*argument)
    return found


def _of_repeat(least: int, most: int, repeated: Any) -> Starts:
    if least and list(repeated) == _A_BLANK:
        return _BLANK
    found = _of_sequence(repeated)
    if most > 1:
        found = frozenset((text, False) for text, _ in found)
    return found if least else _shortest({*found, *_NOTHING})


# --- gaps ------------------------------------------------------------------------------------

_MOST_WORDS_OF_A_GAP = 4


def gaps(parsed: Iterable[Item]) -> int:
    """Characters that one try may go through in search of what follows."""
    total = 0
    for operation, argument in parsed:
        if operation in _REPEATS:
            _, most, repeated = argument
            total += most if _is_anything(*repeated[0]) else min(most, _MOST_WORDS_OF_A_GAP) * gaps(repeated)
        elif operation is op.BRANCH:
            total += max(map(gaps, argument[1]))
        elif operation in {op.SUBPATTERN, op.ASSERT}:
            total += gaps(argument[-1])
        elif operation is op.ATOMIC_GROUP:
            total += gaps(argument)
    return total


def _is_anything(operation: Any, argument: Any) -> bool:
    """Whether it stands for all characters but a few."""
    return operation in {op.NOT_LITERAL, op.ANY} or (operation is op.IN and argument[0][0] is op.NEGATE)
