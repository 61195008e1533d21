"""Long texts in parts: whole, in order, each within the limit, cut at the best seam."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.telegram.splitting import split_message, units

WORDS = st.lists(st.text(alphabet="abcäß€語。，😀👩‍🚀 .!?\n\t", min_size=0, max_size=40), max_size=40).map(
    "\n".join
)


@given(st.one_of(WORDS, st.text()), st.integers(2, 60))
def test_every_part_fits_and_together_they_are_the_text(text: str, limit: int) -> None:
    found = split_message(text, limit)
    assert all(0 < units(part) <= limit for part in found)
    assert all(part == part.strip() for part in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@given(st.text(max_size=50))
def test_a_fitting_text_is_one_part(text: str) -> None:
    assert split_message(text, 200) == ([text.strip()] if text.strip() else [])


def test_it_is_cut_between_paragraphs_where_the_part_is_full_enough() -> None:
    text = "First line.\nSecond line.\n\nA new paragraph that continues."
    assert split_message(text, 40) == ["First line.\nSecond line.", "A new paragraph that continues."]


def test_a_short_paragraph_does_not_make_a_short_part() -> None:
    text = "Oh.\n\n" + "word " * 20
    assert split_message(text, 50)[0].startswith("Oh.\n\nword word")


def test_it_is_cut_between_sentences_then_words_then_anywhere() -> None:
    assert split_message("One two three. Four five six.", 20) == ["One two three.", "Four five six."]
    assert split_message("one two three four", 9) == ["one two", "three", "four"]
    assert split_message("abcdefgh", 3) == ["abc", "def", "gh"]


def test_a_character_of_two_units_is_never_cut_in_half() -> None:
    assert split_message("😀" * 5, 3) == ["😀"] * 5
    assert split_message("a😀b", 2) == ["a", "😀", "b"]


def test_a_word_that_fills_a_part_to_the_last_unit_stays_whole() -> None:
    assert split_message("aaaa bbbb", 4) == ["aaaa", "bbbb"]
