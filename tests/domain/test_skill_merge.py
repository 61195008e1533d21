"""Merging texts line by line: what one side did stands, and what both did is not lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.three_way_merge import conflicts, is_conflict, merge, nearest

BASE = "a\nb\nc\nd\ne\n"
TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines))


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        (BASE, BASE, BASE),
        ("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n"),
        ("a\nb\nc\nd\ne\nf\n", "x\na\nb\nc\nd\ne\n", "x\na\nb\nc\nd\ne\nf\n"),
        ("a\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n", "a\nc\nd\ne\nf\n"),
        ("a\nB\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "a\nB\nc\nd\ne\n"),
        ("a\nours\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n", "a\nours\ntheirs\nc\nd\ne\n"),
        ("a\nsame\nours\nc\nd\ne\n", "a\nsame\ntheirs\nc\nd\ne\n", "a\nsame\nours\ntheirs\nc\nd\ne\n"),
        ("a\nb\nc\nd\ne\nours", "a\nb\nc\nd\ne\ntheirs", "a\nb\nc\nd\ne\nours\ntheirs\n"),
        ("", "a\nb\nnew\nc\nd\ne\n", "new\n"),
        ("a\nb\nc\nd\ne\nours\n", "a\nb\nc\nd\n", "a\nb\nc\nd\nours\n"),
        ("a\nb\nc\nd\ne\nours\n", "a\nb\nc\nd\nE\n", "a\nb\nc\nd\nE\nours\n"),
        ("a\nb\nc\nd\nE\n", "a\nb\nc\nd\n", "a\nb\nc\nd\nE\n"),
    ],
)
def test_a_merge_holds_both_sides(ours: str, theirs: str, result: str) -> None:
    assert merge(BASE, ours, theirs) == result


def test_an_overriding_sides_lines_are_kept_alone() -> None:
    ours, theirs = "a\nours\nc\nd\nE\n", "A\ntheirs\nc\nd\ne\n"
    assert conflicts(BASE, ours, theirs) == "A\ntheirs\nc\nd\nE\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        ("a\nours\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n", True),
        ("a\nours\nc\nd\ne\n", "a\nc\nd\ne\n", True),
        ("a\nsame\nc\nd\ne\n", "a\nsame\nc\nd\ne\n", False),
        ("a\nc\nd\ne\n", "a\nc\nd\ne\nf\n", False),
        (f"{BASE}ours\n", f"{BASE}theirs\n", False),
        (f"{BASE}ours\n", "a\nb\nc\nd\n", False),
    ],
)
def test_a_line_that_both_changed_is_a_conflict(ours: str, theirs: str, conflict: bool) -> None:
    assert is_conflict(BASE, ours, theirs) == is_conflict(BASE, theirs, ours) == conflict


@given(TEXTS, TEXTS, TEXTS)
def test_no_line_that_either_removed_and_the_other_left_is_there(base: str, ours: str, theirs: str) -> None:
    lines = [text.splitlines() for text in (base, ours, theirs, merge(base, ours, theirs))]
    if all(len(set(text)) == len(text) for text in lines[:3]):
        gone = set(lines[0]) - (set(lines[1]) & set(lines[2]))
        moved = (set(lines[1]) | set(lines[2])) - set(lines[0])
        assert not (gone - moved) & set(lines[3]) or is_moved(*lines[:3])


def is_moved(base: list[str], *sides: list[str]) -> bool:
    """Whether a side has put lines into another order, which is removing and adding them."""
    return any([x for x in side if x in base] != [x for x in base if x in side] for side in sides)


@given(TEXTS, TEXTS)
def test_a_change_of_one_side_is_taken_whole(base: str, changed: str) -> None:
    assert merge(base, changed, base) == changed
    assert merge(base, base, changed) == changed
    assert merge(base, changed, changed) == changed


@given(TEXTS, TEXTS, TEXTS)
def test_no_added_line_is_lost(base: str, ours: str, theirs: str) -> None:
    lines = set(merge(base, ours, theirs).splitlines())
    added = (set(ours.splitlines()) | set(theirs.splitlines())) - set(base.splitlines())
    assert added <= lines


@given(st.text(), st.text(), st.text())
def test_any_texts_can_be_merged(base: str, ours: str, theirs: str) -> None:
    assert isinstance(merge(base, ours, theirs), str)
    assert isinstance(conflicts(base, ours, theirs), str)


def test_the_nearest_text_is_the_one_with_most_lines_in_common_and_the_last_of_equals() -> None:
    assert nearest(["a\nb\n", "a\nb\nc\n", "x\n"], to="a\nb\nc\nd\n") == "a\nb\nc\n"
    assert nearest(["a\nb\n", "b\na\n"], to="a\nb\n") == "b\na\n"
    assert nearest([], to="a") is None
