"""Our own recall: what is searched for, and how it is told."""

from __future__ import annotations

import pytest

from hermes_jobs.features.recall.fused_recall import RecallQuery
from hermes_jobs.features.recall.session_recall import TEXT_CHARS, SessionRecall
from hermes_jobs.kernel.engine.ports.conversation_search import (
    Near,
    Passage,
    Scope,
    SearchHit,
    SessionSummary,
    TranscriptMessage,
)
from tests.memory.provider_support import session


class Shelf:
    """An `ConversationSearch` with one conversation about tea."""

    def __init__(self, text: str = "I like green tea\nat four") -> None:
        self.prompt: list[tuple[str, Scope]] = []
        self._text = text

    def search(self, query: str, *, scope: Scope, limit: int) -> tuple[SearchHit, ...]:
        return ()

    def passages(self, query: str, *, scope: Scope, limit: int, least: float = 0.0) -> tuple[Passage, ...]:
        self.prompt.append((query, scope))
        hit = SearchHit(
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
        before = Near(role="assistant", position=2, text="What do you like?")
        after = Near(role="assistant", position=4, text="Noted:\ngreen.")
        found = Passage(hit=hit, text=self._text, before=before, after=after)
        return (found,) if "green" in query else ()

    def searched(self, scope: Scope) -> int:
        return 1

    def recent(self, *, scope: Scope, limit: int) -> tuple[SessionSummary, ...]:
        return ()

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        return ()


def test_recalled_passages_have_their_day_place_and_neighbours() -> None:
    shelf = Shelf()
    assert SessionRecall(shelf)(session(), RecallQuery("Is there green tea?")).text == (
        "From earlier conversations:\n"
        "- 2026-11-01, Tea, assistant: What do you like?\n"
        "  user: I like green tea at four\n"
        "  assistant: Noted: green."
    )
    (asked,) = shelf.prompt
    assert asked == ("Is there green tea?", Scope(outside="s1"))


def test_a_long_text_is_recalled_in_part() -> None:
    told = SessionRecall(Shelf("green " * 1_000))(session(), RecallQuery("Is there green tea?")).text
    assert max(map(len, told.splitlines())) <= TEXT_CHARS + len("  user: ")


def test_where_nothing_is_found_there_is_nothing_to_tell() -> None:
    assert SessionRecall(Shelf())(session(), RecallQuery("Is there milk?")).text == ""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('did he say "green" AND blue, NOT red*?', "did he say  green  and blue, not red ?"),
        ("green 模型はどれ", "green 模型はどれ"),
    ],
)
def test_a_text_is_asked_as_it_is_and_nothing_in_it_is_an_operator(text: str, asked: str) -> None:
    shelf = Shelf()
    SessionRecall(shelf)(session(), RecallQuery(text))
    assert [query for query, _ in shelf.prompt] == [asked]


def test_a_text_without_words_is_not_searched_for() -> None:
    shelf = Shelf()
    assert SessionRecall(shelf)(session(), RecallQuery("?! …")).text == ""
    assert SessionRecall(shelf)(session(), RecallQuery("")).text == ""
    assert shelf.prompt == []
