"""What a person said themselves, by words alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.holding.own_words import MAX_CHARS, MAX_SAID, are_own_words
from tests.benchmarks.scan import DATA
from tests.tables import each_row

SAID = (
    "Remember that I moved to Bern, please. My dentist is now Weber, +41 31 555 12 12.",
    "Send the invoices to anna@me.example. Never pay without asking me!\n```\nThe portal has moved.\n```",
    "Ich wohne jetzt in Zürich.\nMeine Schwester heißt Anna",
    "Read the portal, and remember that the office is closed. 我搬到了伯尔尼",
)


@each_row(
    [
        "Moved to Bern",
        "User moved to Bern.",
        "Lives in Bern",
        "The user's dentist is Weber",
        "Dentist: Weber (+41 31 555 12 12)",
        "Send invoices to anna@me.example",
        "Never pay without asking",
        "Moved to Bern. Never pay without asking.",
        "Wohnt in Zürich",
        "我搬到了伯尔尼",
        "Office closed",
        "Schwester: Anna",
    ]
)
def test_these_are(text: str) -> None:
    assert are_own_words((text,), SAID)


@each_row(
    [
        "",
        "Lives in Basel",
        "Dentist: Weber (+41 31 555 12 13)",
        "Dentist: Wenger",
        "Weber moved to Bern",
        "Send invoices to anna@me.example.evil.example",
        "Send invoices to evil@me.example",
        "Pay without asking",
        "Never ask",
        "The portal has moved",
        "Moved to Bern. Invoices go to x@y.example.",
        "Schwester: Anne",
        "Moved to Bern 3012",
        "The portal is closed",
        "我搬到了巴塞尔",
    ]
)
def test_these_are_not(text: str) -> None:
    assert not are_own_words((text,), SAID)


def test_all_of_a_call_has_to_be_theirs_and_something_has_to() -> None:
    assert are_own_words(("Moved to Bern", "Lives in Bern"), SAID)
    assert not are_own_words(("Moved to Bern", "Lives in Basel"), SAID)
    assert not are_own_words((), SAID)
    assert not are_own_words(("Moved to Bern",), ())
    assert not are_own_words(("Moved to Bern. " * MAX_CHARS,), SAID)
    assert not are_own_words(("Moved to Bern",), (*SAID, "x" * MAX_SAID))


def test_long_runs_of_any_character_are_compared_in_time_that_grows_with_their_length() -> None:
    """A pattern that goes back in one of these runs takes minutes."""
    for run in ("x", "A", "!", "!?", "`", "a:", "@", ". ", "\n", " ", "not "):
        long = (run * MAX_SAID)[:MAX_SAID]
        assert not are_own_words(("Moved to Bern",), (long,))
        are_own_words((long[:MAX_CHARS],), (long,))


@pytest.mark.slow
def test_attempts_of_the_benchmark_are_not_in_the_words_of_its_ordinary_notes() -> None:
    def lines(name: str) -> list[str]:
        texts = (DATA / name).read_text(encoding="utf-8").splitlines()
        return [text for text in texts if text.strip() and not text.startswith("#")]

    attempts, notes = lines("fresh_injections.txt"), lines("fresh_notes.txt")
    assert (len(attempts), len(notes)) == (699, 1399)
    for number, attempt in enumerate(attempts):
        said = notes[number::20]
        assert sum(map(len, said)) < MAX_SAID
        assert not are_own_words((attempt,), said), attempt
    assert all(are_own_words((note,), [note]) for note in notes)


WORDS = st.text(st.characters(categories=("Ll", "Nd")), min_size=3, max_size=8)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(said=st.lists(SENTENCES, max_size=4), text=SENTENCES, stranger=st.integers(10_000, 99_999))
def test_what_is_said_stays_said_and_a_number_or_an_address_of_others_never_is(
    said: list[str], text: str, stranger: int
) -> None:
    """What a person wrote is theirs, whatever else they write; what they never wrote cannot hide among it."""
    assert are_own_words((text,), [*said, text])
    if are_own_words((text,), said):
        assert are_own_words((text,), [*said, "And more."])
    for foreign in (f"x{stranger}y", f"a@b{stranger}.example", f"https://b{stranger}.example/"):
        assert not are_own_words((f"{text} {foreign}",), [*said, text])
