"""Searching a hundred thousand messages in six languages: the few that matter are found among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import pytest

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel.engine.ports.conversation_search import Scope
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.text.search import Matcher, Term, fold, parse
from tests.views.corpus import Corpus

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # the first test waits until they are made

MESSAGES = 100_000
NEEDLES = (
    "the xylophone was tuned on Thursday",
    "Xylophones, plural, were not",
    "thursday came before the xylophone",
    "see src/legacy/xylem.py:120 and docs/xylem.md",
    "write to greta.x@example.org about it",
    "at https://example.org/xyz?page=2 it says",
    "since version 17.4.1-rc2 of libxyl",
    "rewritten in Xyl++ and Xyl# by hand",
    "it's o'clock somewhere",
    "die Xylophonübung im Vergrößerungsglas",
    "在紫禁城里弹木琴很安静",
    "木制的琴",
    "紫色的禁令",
    "木琴を演奏する猫がいます",
    "실로폰을 연주하는 고양이",
    "snake_case_xylo and camelCaseXylo",
    "shipped it 🛸 at last",
    "使用Xylo模板引擎",
)
AT = {91 + number * 5_501: text for number, text in enumerate(NEEDLES)}  # which message holds which

CASES = {
    "xylophone": {0, 2},
    "xylophon*": {0, 1, 2, 9},
    '"xylophone was tuned"': {0},
    "tuned thursday": {0},
    "thursday xylophone NOT tuned": {2},
    "tuned OR plural": {0, 1},
    "(tuned OR came) xylophone": {0, 2},
    "src/legacy/xylem.py": {3},
    "docs/xylem.md": {3},
    "greta.x@example.org": {4},
    "https://example.org/xyz?page=2": {5},
    "17.4.1-rc2": {6},
    "Xyl++": {7},
    "xyl#": {7},
    "o'clock": {8},
    "xylophonübung": {9},
    "XYLOPHONUBUNG": {9},
    "vergrößerungsgl*": {9},
    "紫禁城": {10},
    "紫": {10, 12},
    "禁": {10, 12},
    "紫禁": {10},
    "木琴": {10, 13},
    "木 琴": {10, 11, 13},
    "木琴 NOT 紫": {13},
    "紫禁城 OR 紫色": {10, 12},
    "猫がいます": {13},
    "실로폰": {14},
    '"연주하는 고양이"': {14},
    "고양 OR 猫": {13, 14},
    "snake_case_xylo": {15},
    "camelcasexylo": {15},
    "🛸": {16},
    "🛸 shipped": {16},
    "xylo模板": {17},
    "xylo 引擎": {17},
    "xylo 木琴": {10, 13, 15, 17},  # no message holds both words: those with either
}


class Remembered:
    """A log that holds its events in memory; all of a log that views want."""

    log_id = "remembered"

    def __init__(self, events: Iterable[RecordedEvent]) -> None:
        self._events = tuple(events)

    def last_position(self) -> int:
        return len(self._events)

    def tail(self, after: int = 0, limit: int = 1000) -> Sequence[RecordedEvent]:
        return self._events[max(after, 0) : max(after, 0) + limit]

    def at(self, positions: Sequence[int]) -> Sequence[RecordedEvent]:
        return [self._events[position - 1] for position in positions]

    def result(self, call: str) -> str | None:
        return None

    def key(self, scope: str, key: str) -> None:
        """Nothing was ever forgotten."""


@pytest.fixture
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversations]:
    """The hundred thousand, made deterministically, with the needles among them."""
    log = Remembered(Corpus(needles=list(AT.items())).recorded(MESSAGES))
    views = Views(cast(EventLog, log), tmp_path_factory.mktemp("many"))
    views.rebuild()
    yield Conversations(views)
    views.close()


def as_many_as_are_said_to_be_are_searched(past: Conversations) -> None:
    assert past.searched() >= MESSAGES


def a_rare_word_is_found_in_all_its_messages(past: Conversations) -> None:
    found = {query: [needle_in(hit.snippet) for hit in past.search(query, limit=100)] for query in CASES}
    assert {query: set(needles) for query, needles in found.items()} == CASES
    assert {query for query, needles in found.items() if len(needles) != len(CASES[query])} == set()


def needle_in(snippet: str) -> int | None:
    """Which needle an excerpt is taken from."""
    plain = snippet.replace(">>>", "").replace("<<<", "")
    return next((number for number, text in enumerate(NEEDLES) if text in plain), None)


COMMON = (
    *("the", "server error", '"the of"', "the OR der", "server NOT the", "s*", "se* NOT the", "grep"),
    *("的", "数据", "検索", "검색", "데이터", "src/core/engine.py", "3.14", "Größe", "i++"),
)


def every_hit_of_a_common_word_holds_it(past: Conversations) -> None:
    for query in COMMON:
        expression = parse(query)
        assert expression is not None, query
        hits = past.search(query, limit=30)
        assert len(hits) == 30, query
        if isinstance(expression, Term):
            matcher = Matcher([expression])
            shown = [fold(hit.snippet.replace(">>>", "").replace("<<<", "")) for hit in hits]
            assert all(matcher.holds(0, each) for each in shown), query
        assert all(">>>" in hit.snippet for hit in hits), query


def common_words_are_found_within_narrow_limits(past: Conversations) -> None:
    of_users = past.search("the", scope=Scope(roles=("user",), source="telegram"), limit=30)
    assert [hit.role for hit in of_users] == ["user"] * 30
    first_day = past.search("the", scope=Scope(before="2026-01-02T00:00:00.000000Z"), limit=30)
    assert len(first_day) == 30
    assert all(hit.at < "2026-01-02" for hit in first_day)
    (last, *_) = past.search("the", limit=1)
    assert last.session not in {hit.session for hit in past.search("the", scope=Scope(outside=last.session))}


def test_a_hundred_thousand_messages_are_searched(past: Conversations) -> None:
    """One test, since making them takes most of its time, once for each process of tests."""
    as_many_as_are_said_to_be_are_searched(past)
    a_rare_word_is_found_in_all_its_messages(past)
    every_hit_of_a_common_word_holds_it(past)
    common_words_are_found_within_narrow_limits(past)
