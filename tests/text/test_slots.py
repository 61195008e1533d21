"""Slots of sentences: what they give a value to, where only one value can hold."""

from __future__ import annotations

import pytest

from hermes_jobs.text.slots import Slot, are_opposed, slot_of


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ("Dentist: Weber", "The user's dentist is Keller.", "keller"),
        ("My dentist is Weber", "Meine neue Zahnärztin ist Keller", "keller"),
        ("Dentist: Weber", "Keller is the user's new dentist", "keller"),
        ("Maya lives in Leeds.", "Maya has moved from Leeds to York.", "york"),
        ("The user lives in Leeds.", "I live now in York", "york"),
        ("Home town: Leeds", "The user lives in York", "york"),
        ("The user's sister Anna lives in Bern.", "Anna moved to Ghent", "ghent"),
        ("Favourite colour: green", "The user's favourite colour is now blue", "blue"),
        ("The user prefers tea over coffee", "I prefer coffee to tea", "coffee"),
        ("The backup server is nas1.local", "the backup machine is nas3.local", "nas3.local"),
        ("Anna's birthday is May 3", "Anna's birthday: May 4", "may 4"),
    ],
)
def test_two_sentences_fill_one_slot(one: str, other: str, value: str) -> None:
    first, second = slot_of(one), slot_of(other)
    assert first is not None
    assert second is not None
    assert (first.name, second.value) == (second.name, value)
    assert are_opposed(first.value, second.value)


@pytest.mark.parametrize(
    "text",
    [
        "Allergy: nuts",
        "The user's sister is Anna",
        "My car is red",
        "The city is big",
        "Maya's gym is Aireside",
        "The user lives in a flat",
        "Anna lives with her two cats",
        "Note: call the dentist, who is Weber",
        "x" * 400,
        "",
    ],
)
def test_plural_or_other_sentences_have_no_slot(text: str) -> None:
    assert slot_of(text) is None


def test_whose_it_is_counts() -> None:
    assert slot_of("Anna's dentist is Weber") == Slot("anna: @dentist", "weber")
    assert slot_of("Dentist: Weber") == Slot(": @dentist", "weber")


def test_more_of_the_same_is_not_opposed() -> None:
    assert not are_opposed("bern", "Bern, Länggasse")
    assert are_opposed("bern", "basel")
