"""Our own recall: what is searched for, and how it is told."""

from __future__ import annotations

import pytest

from hermes_jobs.engine.archive import Hit, Past, Scope, Utterance
from hermes_jobs.memory.recalling import WORDS, OwnRecall, telling_words
from tests.memory.provider_support import session


class Shelf:
    """An `Archive` with one conversation about tea."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Scope]] = []

    def search(self, query: str, *, scope: Scope, limit: int) -> tuple[Hit, ...]:
        self.asked.append((query, scope))
        hit = Hit(
            session="s0",
            lineage="session-s0",
            kind="conversation",
            source="cli",
            title="Tea",
            label="Tea",
            turn="t0",
            role="user",
            position=3,
            snippet="I like >>>green<<< tea\nat four",
            at="2026-11-01T12:00:00.000000Z",
        )
        return (hit,) if '"green"' in query else ()

    def searched(self, scope: Scope) -> int:
        return 1

    def recent(self, *, scope: Scope, limit: int) -> tuple[Past, ...]:
        return ()

    def transcript(self, session: str) -> tuple[Utterance, ...]:
        return ()


def test_what_was_said_elsewhere_is_told_with_its_day_and_place() -> None:
    shelf = Shelf()
    assert OwnRecall(shelf)(session(), "Is there green tea?") == (
        "From earlier conversations:\n- 2026-11-01, Tea, user: I like green tea at four"
    )
    (asked,) = shelf.asked
    assert asked == ('"there" OR "green"', Scope(outside="s1"))


def test_where_nothing_is_found_there_is_nothing_to_tell() -> None:
    assert OwnRecall(Shelf())(session(), "Is there milk?") == ""


def test_a_text_without_telling_words_is_not_searched_for() -> None:
    shelf = Shelf()
    assert OwnRecall(shelf)(session(), "and so it is?") == ""
    assert shelf.asked == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the build of src/app/main.py fails", ("src/app/main.py", "build", "fails")),
        ("Was ist mit der Prüfung?", ("prüfung",)),
        ("我喜欢 茶", ("我喜", "喜欢", "茶")),
        ("GPT模型はどれ", ("模型", "型は", "はど", "どれ")),
        ("आज का कार्यक्रम", ("कार्यक्रम",)),
        ("tea " * 50, ()),
        ("", ()),
    ],
)
def test_long_words_and_signs_without_spaces_tell_most(text: str, words: tuple[str, ...]) -> None:
    assert telling_words(text) == words


def test_no_more_words_than_a_search_takes() -> None:
    assert len(telling_words(" ".join(f"word{number}" for number in range(100)))) == WORDS
