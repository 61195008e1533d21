"""Texts that are shortened for people."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.clip import clip, one_line


@given(text=st.text(max_size=30), most=st.integers(1, 20))
def test_a_clipped_text_is_the_text_or_its_marked_beginning(text: str, most: int) -> None:
    found = clip(text, most)
    assert len(found) <= most or found == text
    assert found == text if len(text) <= most else text.startswith(found[:-1]) and found.endswith("…")


def test_one_line_has_single_spaces() -> None:
    assert one_line("  two\n\nwords\t", 20) == "two words"
    assert one_line("two words", 5) == "two …"
