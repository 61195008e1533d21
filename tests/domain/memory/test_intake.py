"""What people do to the files: nobody's words are lost, and a file that is only old is not an edit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.import_edits import import_edits
from hermes_jobs.features.memory.rules.memory import entries_of, history, text_of
from hermes_jobs.folders.hand_edits import Content
from tests.domain.memory.remembering import folded, remembering

TEA, COFFEE, MILK = "User drinks tea", "User drinks coffee", "The milk is in the fridge"
NOW = 1_700_000_000_000_000_001


def found(
    facts: Sequence[e.MemoryEvent],
    file: str | Sequence[str],
    *,
    held: Sequence[int] | None = None,
    unread: bool = False,
    at: int = NOW,
) -> tuple[e.MemoryEvent, ...]:
    """What a file comes to that held the log as it was at those versions, one a second until now.

    Nothing said: it held the newest; none: nothing is known. `unread`: nobody has read the newest of it.
    """
    past = history(facts)
    versions = [len(facts)] if held is None else list(held)
    newest = versions[-1] if versions else 0
    contents = [
        Content(past[version].memory, NOW - (newest - version) * 10**9, unread and version == newest)
        for version in versions
    ]
    text = file if isinstance(file, str) else text_of(file)
    saved = Content(entries_of(text), at)
    return import_edits(past[-1], "memory", saved, contents=contents, followed=newest, events=facts)


def after_edit(
    facts: Sequence[e.MemoryEvent],
    file: str | Sequence[str],
    *,
    held: Sequence[int] | None = None,
    unread: bool = False,
    at: int = NOW,
) -> tuple[str, ...]:
    """The entries after the file was taken in."""
    events = found(facts, file, held=held, unread=unread, at=at)
    assert all(event.author == "hand_edit" for event in events)
    return folded([*facts, *events]).memory


def test_an_entry_that_a_person_added_is_added():
    assert after_edit(remembering(TEA), [TEA, MILK]) == (TEA, MILK)


def test_an_entry_that_a_person_changed_is_replaced_in_its_place():
    assert after_edit(remembering(TEA, MILK), [COFFEE, MILK]) == (COFFEE, MILK)


def test_an_entry_that_a_person_took_out_is_removed():
    assert after_edit(remembering(TEA, MILK, COFFEE), [TEA, COFFEE]) == (TEA, COFFEE)


def test_a_file_that_was_saved_is_an_edit_also_when_it_once_read_so():
    facts = remembering(TEA, MILK, COFFEE)
    for past in history(facts):
        assert after_edit(facts, past.memory) == past.memory
        assert after_edit(facts, past.memory, held=[0, 1, 2, 3]) == past.memory


def test_a_file_that_held_nothing_newer_is_older_and_no_edit():
    facts = remembering(TEA, MILK, COFFEE)
    for version, past in enumerate(history(facts)):
        assert found(facts, past.memory, held=[version]) == ()


def test_a_file_saved_before_the_newest_write_is_based_on_its_earlier_content():
    facts = remembering(TEA, MILK, COFFEE)
    assert found(facts, [TEA, MILK], held=[1, 2, 3], at=NOW - 2) == ()
    assert after_edit(facts, [MILK, "Mine"], held=[1, 2, 3], at=NOW - 2) == (MILK, COFFEE, "Mine")


def test_times_in_whole_seconds_are_compared_so():
    facts = remembering(TEA, MILK)
    second = NOW - NOW % 10**9
    assert after_edit(facts, [TEA], held=[1, 2], at=second) == (TEA,)


def test_a_file_whose_newest_content_was_not_read_is_based_on_an_older_one():
    facts = remembering(TEA, MILK, COFFEE)
    assert after_edit(facts, [TEA, "Mine"], held=[1, 3], unread=True) == (TEA, MILK, COFFEE, "Mine")
    assert after_edit(facts, [TEA, "Mine"], held=[1, 3]) == (TEA, "Mine")


def test_a_file_with_parts_of_the_newest_content_is_based_on_it():
    facts = remembering(TEA, MILK, COFFEE)
    assert after_edit(facts, [TEA, COFFEE, "Mine"], held=[1, 3], unread=True) == (TEA, COFFEE, "Mine")


def test_of_a_file_of_which_nothing_is_known_the_nearest_of_all_that_was_is_the_base():
    facts = remembering(TEA, MILK, COFFEE)
    assert after_edit(facts, [TEA, MILK, "Mine"], held=[]) == (TEA, MILK, COFFEE, "Mine")
    for past in history(facts):
        assert found(facts, past.memory, held=[]) == ()


def test_an_order_that_a_person_gives_the_entries_stays():
    facts = remembering(TEA, MILK, COFFEE)
    assert after_edit(facts, [COFFEE, TEA, MILK]) == (COFFEE, TEA, MILK)
    assert after_edit(facts, ["Mine", TEA, MILK, COFFEE]) == ("Mine", TEA, MILK, COFFEE)
    assert after_edit(facts, [MILK, TEA], held=[2]) == (MILK, COFFEE, TEA)


@pytest.mark.parametrize(
    "text", [f"\ufeff{TEA}\r\n§\r\n{MILK}\r\n", f"{TEA}\n\n §\n{MILK}", f"§\n{TEA}\n§\n§\n{MILK}\n§"]
)
def test_line_wrapping_is_no_edit(text: str):
    assert entries_of(text) == (TEA, MILK)
    facts = remembering(TEA, MILK)
    assert found(facts, text) == ()


CHANGED = e.MemoryReplaced(target="memory", old=TEA, content=COFFEE, author="turn")
GONE = e.MemoryRemoved(target="memory", old=TEA, author="turn")
FOUR = "User drinks tea at four"


@pytest.mark.parametrize(
    ("later", "theirs", "after", "conflict"),
    [
        (CHANGED, [FOUR], (COFFEE, FOUR), (COFFEE, FOUR)),
        (CHANGED, [], (COFFEE,), (COFFEE, None)),
        (GONE, [FOUR], (FOUR,), (None, FOUR)),
        (GONE, [], (), None),
        (CHANGED, [COFFEE], (COFFEE,), None),
    ],
    ids=["changed, changed", "changed, removed", "removed, changed", "removed, removed", "changed alike"],
)
def test_two_changes_of_one_entry_are_kept_as_a_conflict(
    later: e.MemoryEvent,
    theirs: list[str],
    after: tuple[str, ...],
    conflict: tuple[str | None, str | None] | None,
):
    facts = [*remembering(TEA), later]
    events = found(facts, theirs, held=[1])
    assert folded([*facts, *events]).memory == after
    recorded = [event for event in events if isinstance(event, e.MemoryConflicted)]
    assert [(event.ours, event.theirs) for event in recorded] == ([conflict] if conflict else [])


def test_an_imported_edit_is_not_imported_twice():
    facts = remembering(TEA, MILK, COFFEE)
    file = text_of([TEA, "By hand"])
    taken = found(facts, file, held=[3])
    assert taken
    then = [*facts, *taken, *remembering("Later")]
    assert found(then, file, held=[3]) == ()


def test_plain_text_without_a_separator_is_one_entry():
    assert after_edit([], "Some words\non two lines\n") == ("Some words\non two lines",)


def test_the_other_target_is_another_file():
    facts = remembering(TEA, target="user")
    assert after_edit(facts, [TEA]) == (TEA,)


WORDS = st.sampled_from(["tea", "milk", "coffee", "bread", "butter", "salt"])
ENTRY = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
LISTS = st.lists(ENTRY, max_size=4, unique=True)


@given(LISTS, LISTS, LISTS)
def test_a_merge_has_both_additions_and_both_removals(base: list[str], ours: list[str], theirs: list[str]):
    facts = remembering(*base)
    later: list[e.MemoryEvent] = [
        *(e.MemoryRemoved(target="memory", old=entry, author="turn") for entry in base if entry not in ours),
        *remembering(*(entry for entry in ours if entry not in base)),
    ]
    after = after_edit([*facts, *later], theirs, held=[len(facts)])
    if tuple(theirs) == tuple(base):
        assert after == folded([*facts, *later]).memory
    kept = {each for each in {*ours, *theirs} if (each in ours and each in theirs) or each not in base}
    assert set(after) == kept
    assert len(set(after)) == len(after)


@given(LISTS, LISTS)
def test_an_edit_without_other_writers_is_kept_as_it_is(base: list[str], by_hand: list[str]):
    assert after_edit(remembering(*base), by_hand) == tuple(by_hand)


@given(LISTS, LISTS)
def test_taking_in_twice_is_taking_in_once(base: list[str], by_hand: list[str]):
    facts = remembering(*base)
    file = text_of(by_hand)
    taken = [*facts, *found(facts, file)]
    assert found(taken, file, held=[len(facts)]) == ()
