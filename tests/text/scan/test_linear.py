"""What a scan costs grows with the text and no faster, whatever the text is."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Iterator
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from hermes_jobs.text.scan.rules import MOST_REPEATS, bounded, scan_rules, skill_rules
from hermes_jobs.text.scan.scanner import scan
from tests.tables import each_row, slow_sample
from tests.text.scan.worst_shapes import SHAPES
from tests.text.scan.worst_shapes import shape as worst_shape

SIZE = 1_000_000


def repeats(parsed: Any) -> Iterator[int]:
    """The upper bound of each repeat in a parsed pattern."""
    for operation, argument in parsed:
        if operation in {_parser.MAX_REPEAT, _parser.MIN_REPEAT, _parser.POSSESSIVE_REPEAT}:
            yield int(argument[1])
            yield from repeats(argument[2])
        elif operation is _parser.SUBPATTERN:
            yield from repeats(argument[-1])
        elif operation is _parser.BRANCH:
            for branch in argument[1]:
                yield from repeats(branch)
        elif operation in {_parser.ASSERT, _parser.ASSERT_NOT}:
            yield from repeats(argument[1])


PATTERNS = sorted(
    {
        pattern
        for rules in (scan_rules(), skill_rules())
        for rule in rules.rules
        for pattern in (rule.pattern, rule.unless, *rule.unless_preceded_by)
        if pattern
    }
)


@each_row(PATTERNS)
def test_nothing_in_a_rule_repeats_without_a_bound(pattern: str) -> None:
    parsed = _parser.parse(bounded(pattern), re.IGNORECASE | re.VERBOSE)
    assert max(repeats(parsed), default=0) <= 20 * MOST_REPEATS


@pytest.mark.parametrize(
    ("written", "means"),
    [
        (r"a+b*", r"a{1,100}b{0,100}"),
        (r"a+?[+*]\+\*", r"a{1,100}?[+*]\+\*"),
        (r"(?:x){3,}[]*]+", r"(?:x){3,103}[]*]{1,100}"),
        (r"a{2,5}\{,", r"a{2,5}\{,"),
    ],
)
def test_a_repeat_gets_a_bound_and_nothing_else_changes(written: str, means: str) -> None:
    assert bounded(written) == means


@pytest.mark.timeout(120)  # a scan whose cost grows with the square takes hours
@pytest.mark.parametrize("shape", slow_sample(SHAPES, 6))
def test_the_worst_shapes_are_read_through(shape: str) -> None:
    scan((shape * SIZE)[:SIZE])


@pytest.mark.slow
@pytest.mark.timeout(120)  # a pattern whose cost doubles with each piece takes years
def test_pieces_of_what_patterns_match_are_read_through() -> None:
    for number in range(4, 200, 5):
        scan(worst_shape(number))


@pytest.mark.parametrize("shape", slow_sample(("ter|", "a", "好", "о ", "x@", "when says "), 2))
def test_a_scan_takes_less_than_three_hundred_bytes_for_a_character(shape: str) -> None:
    text = (shape * 100_000)[:100_000]
    scan("The first one reads the tables.")
    tracemalloc.start()
    try:
        scan(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 300 * len(text)
