"""The generated parts say what the code says."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.docs.pages import Page, pages
from tests.docs.parts import PARTS, first_sentence, table

PLACES = {name: page for page in pages() for name in page.generated}


def test_every_part_has_one_place() -> None:
    assert Counter(name for page in pages() for name in page.generated) == Counter(list(PARTS))


@pytest.mark.parametrize("name", PARTS)
def test_the_generated_parts_are_up_to_date(name: str) -> None:
    page: Page = PLACES[name]
    made = PARTS[name]()
    assert f"<!-- generated: {name} -->\n{made}\n<!-- end -->" in page.text, (
        f"{page.name} is out of date: `make docs` writes it anew"
    )


def test_a_bar_in_a_cell_does_not_part_it() -> None:
    assert table(("a",), [("x|y",)]).splitlines()[-1] == r"| x\|y |"


def test_only_the_first_sentence_is_taken_and_put_on_one_line() -> None:
    assert first_sentence("One,\n    on two lines. Two.\n\n    More.") == "One, on two lines."
