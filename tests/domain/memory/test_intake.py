"""What people do to the files: nobody's words are lost, and a file that is only old is no edit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.domain import events as e
from hermes_jobs.domain.memory import entries_of, history, text_of
from hermes_jobs.domain.memory_intake import taken_in
from tests.domain.memory.remembering import folded, remembering

TEA, COFFEE, MILK = "User drinks tea", "User drinks coffee", "The milk is in the fridge"


def after_edit(facts: Sequence[e.MemoryEvent], file: str | Sequence[str]) -> tuple[str, ...]:
    """The entries after the file was taken in."""
    text = file if isinstance(file, str) else text_of(file)
    found = taken_in(folded(facts), "memory", text, facts)
    assert all(fact.author == "hand_edit" for fact in found)
    return folded([*facts, *found]).memory


def test_an_entry_that_a_person_added_is_added():
    assert after_edit(remembering(TEA), [TEA, MILK]) == (TEA, MILK)


def test_an_entry_that_a_person_changed_is_replaced_in_its_place():
    assert after_edit(remembering(TEA, MILK), [COFFEE, MILK]) == (COFFEE, MILK)


def test_an_entry_that_a_person_took_out_is_removed():
    assert after_edit(remembering(TEA, MILK, COFFEE), [TEA, COFFEE]) == (TEA, COFFEE)


def test_a_file_as_it_was_at_any_time_is_stale():
    facts = remembering(TEA, MILK, COFFEE)
    for past in history(facts):
        assert taken_in(folded(facts), "memory", text_of(past.memory), facts) == ()


@pytest.mark.parametrize(
    "text", [f"\ufeff{TEA}\r\n§\r\n{MILK}\r\n", f"{TEA}\n\n §\n{MILK}", f"§\n{TEA}\n§\n§\n{MILK}\n§"]
)
def test_how_the_lines_are_set_is_no_edit(text: str):
    assert entries_of(text) == (TEA, MILK)
    facts = remembering(TEA, MILK)
    assert taken_in(folded(facts), "memory", text, facts) == ()


def test_a_file_opened_before_the_agent_wrote_and_saved_after_keeps_the_words_of_both():
    facts = remembering(TEA, MILK)
    assert after_edit(facts, [TEA, "By hand"]) == (TEA, MILK, "By hand")
    assert after_edit(facts, ["User drinks tea at four"]) == ("User drinks tea at four", MILK)


def test_an_entry_that_both_changed_stands_in_both_forms():
    changed = e.MemoryReplaced(target="memory", old=TEA, content=COFFEE, author="turn")
    assert after_edit([*remembering(TEA), changed], ["User drinks tea at four"]) == (
        COFFEE,
        "User drinks tea at four",
    )


def test_what_was_taken_in_is_not_taken_in_again_before_the_file_was_written_anew():
    facts = remembering(TEA, MILK, COFFEE)
    file = text_of([TEA, "By hand"])
    taken = taken_in(folded(facts), "memory", file, facts)
    assert taken
    then = [*facts, *taken, *remembering("Later")]
    assert taken_in(folded(then), "memory", file, then) == ()


def test_plain_text_without_a_separator_is_one_entry():
    assert after_edit([], "Some words\non two lines\n") == ("Some words\non two lines",)


def test_the_other_target_is_another_file():
    facts = remembering(TEA, target="user")
    assert after_edit(facts, [TEA]) == (TEA,)


WORDS = st.sampled_from(["tea", "milk", "coffee", "bread", "butter", "salt"])
ENTRY = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
LISTS = st.lists(ENTRY, max_size=4, unique=True)


@given(LISTS, LISTS, LISTS)
def test_words_that_either_wrote_are_there_afterwards(base: list[str], later: list[str], by_hand: list[str]):
    facts = remembering(*base)
    for entry in later:
        if entry not in folded(facts).memory:
            facts = [*facts, *remembering(entry)]
    was_there = {entry for past in history(facts) for entry in past.memory}
    ours, after = folded(facts).memory, after_edit(facts, by_hand)
    if not any(tuple(by_hand) == past.memory for past in history(facts)):
        assert set(by_hand) - was_there <= set(after), "what the person wrote is there"
    assert set(after) <= set(ours) | set(by_hand), "and nothing that nobody wrote"
    assert len(set(after)) == len(after)


@given(LISTS, LISTS)
def test_an_edit_without_anybody_else_leaves_what_the_person_left(base: list[str], by_hand: list[str]):
    facts = remembering(*base)
    if any(tuple(by_hand) == past.memory for past in history(facts)):
        assert after_edit(facts, by_hand) == folded(facts).memory
    else:
        assert set(by_hand) <= set(after_edit(facts, by_hand))


@given(LISTS, LISTS)
def test_taking_in_twice_is_taking_in_once(base: list[str], by_hand: list[str]):
    facts = remembering(*base)
    file = text_of(by_hand)
    taken = [*facts, *taken_in(folded(facts), "memory", file, facts)]
    assert taken_in(folded(taken), "memory", file, taken) == ()
