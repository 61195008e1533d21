"""Excerpts, windows and what is said where nothing was found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.search import MAX_CHARS, Matcher, best_window, parse, positive_terms, snippet
from hermes_jobs.text.search.folding import normal
from hermes_jobs.text.search.hints import no_results_hint
from hermes_jobs.text.search.ranking import scores
from hermes_jobs.text.search.snippet import TOKENS
from hermes_jobs.text.search.terms import Term

FILLER = "some more words to pass the time. "


def matcher(query: str) -> Matcher:
    expression = parse(query)
    return Matcher(() if expression is None else positive_terms(expression))


def test_an_excerpt_marks_its_matches_on_one_line() -> None:
    text = "The cat\n\n\tsat on the   mat."
    assert snippet(text, matcher("cat mat")) == "The >>>cat<<< sat on the >>>mat<<<."


def test_an_excerpt_has_about_forty_words_and_says_where_it_was_cut() -> None:
    text = FILLER * 30 + "here is the needle at last " + FILLER * 30
    shown = snippet(text, matcher("needle"))
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert ">>>needle<<<" in shown
    assert TOKENS - 2 <= len(shown.split()) <= TOKENS + 2


def test_an_excerpt_is_taken_where_most_words_are_together() -> None:
    text = "alpha " + FILLER * 30 + "alpha and beta " + FILLER * 30 + "beta"
    assert ">>>alpha<<< and >>>beta<<<" in snippet(text, matcher("alpha beta"))


def test_an_excerpt_without_a_match_is_the_beginning() -> None:
    assert snippet("one two three", matcher("four")) == "one two three"
    assert snippet("", matcher("four")) == ""


def test_a_very_long_word_does_not_lengthen_an_excerpt() -> None:
    shown = snippet("needle " + "x" * 100_000, matcher("needle"))
    assert len(shown) < 1_000


@given(st.text(st.characters(exclude_characters="<>…"), max_size=300), st.text(min_size=1, max_size=10))
def test_an_excerpt_without_its_marks_is_a_part_of_the_text(text: str, query: str) -> None:
    plain = snippet(text, matcher(query)).replace(">>>", "").replace("<<<", "").strip("…")
    assert plain in " ".join(normal(text).split())


def test_matches_that_touch_are_marked_as_one() -> None:
    text = "我们的数据库连接池经常超时"
    matches = Matcher([Term("数据"), Term("据库"), Term("连接"), Term("超时")])
    assert snippet(text, matches) == "我们的>>>数据库连接<<<池经常>>>超时<<<"


def test_two_characters_without_spaces_take_the_room_of_a_word() -> None:
    shown = snippet("一二三四五六七八九十" * 30 + "数据" + "一二三四五六七八九十" * 30, matcher("数据"))
    assert len(shown.strip("…").replace(">>>", "").replace("<<<", "")) == 2 * TOKENS
    assert 20 <= shown.index(">>>数据<<<") <= 26


def test_an_excerpt_of_two_scripts_shows_the_matches_of_both() -> None:
    chinese = "我们昨天讨论过这个数据库的问题然后决定换掉它"
    english = "Words about the deployment and some of its dreary parts. "
    text = f"{english * 9}A proxy. {english}{chinese}{english * 9}"
    shown = snippet(text, matcher("proxy 数据库"))
    assert ">>>proxy<<<" in shown
    assert ">>>数据库<<<" in shown


def test_a_window_holds_the_most_of_the_whole_phrase() -> None:
    far = "alpha " * 50 + "gamma " + "beta " * 50
    text = FILLER * 50 + far + FILLER * 100 + "alpha beta " + FILLER * 100
    start, end = best_window(text, matcher("alpha beta"), 1_000)
    assert end - start == 1_000
    assert "alpha beta " in text[start:end]
    assert 200 <= text.rindex("alpha beta") - start <= 300


def test_without_the_phrase_an_excerpt_has_neighbouring_words() -> None:
    text = "alpha " * 20 + FILLER * 100 + "beta with an alpha. " + FILLER * 100 + "beta " * 20
    start, end = best_window(text, matcher("alpha beta"), 1_000)
    assert "beta with an alpha" in text[start:end]


def test_without_words_together_a_window_holds_the_most_of_any() -> None:
    text = "alpha " + FILLER * 100 + "beta one beta two beta " + FILLER * 100
    start, end = best_window(text, matcher("alpha beta"), 1_000)
    assert text[start:end].count("beta") == 3


def test_two_different_words_count_more_in_a_window_than_one_of_them_often() -> None:
    text = "beta beta beta " + FILLER * 100 + "alpha " + FILLER * 15 + "gamma " + FILLER * 100
    start, end = best_window(text, matcher("alpha beta gamma"), 1_000)
    assert "alpha" in text[start:end]
    assert "gamma" in text[start:end]


def test_a_short_text_is_its_own_window() -> None:
    assert best_window("short", matcher("zzz"), 100) == (0, 5)
    assert best_window("x" * 300, matcher("zzz"), 100) == (0, 100)


@given(
    st.text(alphabet="ab 模\n", max_size=400),
    st.sampled_from(["a", "a b", "模", '"a b"']),
    st.integers(1, 90),
)
def test_a_window_is_within_the_text(text: str, query: str, size: int) -> None:
    start, end = best_window(text, matcher(query), size)
    assert 0 <= start <= end <= len(text)
    assert end - start <= size


def test_rarer_words_and_more_of_them_count_for_more() -> None:
    texts = ["common " * 3, "common rare", "common", "common and long " + "word " * 200]
    expression = parse("common OR rare")
    assert expression is not None
    fits = scores(texts, positive_terms(expression))
    assert max(fits) == fits[1]
    assert fits[0] > fits[2] > fits[3]


def test_a_phrase_that_is_spelled_otherwise_counts_for_less_than_as_it_was_asked_for() -> None:
    expression = parse("src/app.py")
    assert expression is not None
    as_asked, otherwise, absent = scores(
        ["in src/app.py", "in src app py", "in src"], positive_terms(expression)
    )
    assert as_asked > otherwise > absent == 0.0


def test_advice_has_the_query_and_ways_to_widen_it() -> None:
    said = no_results_hint("alpha beta*", 1_234, ["role: user"], ["leave out role"])
    assert "all of “alpha”, “beta*”" in said
    assert "1,234 searched (role: user)" in said
    for way in ("fewer words", "OR between them", "leave out role", "star"):
        assert way in said
    assert "nothing to search for in “()”" in no_results_hint("()", 5, [], [])
    assert f"first {MAX_CHARS:,} characters" in no_results_hint("x " * 2_000, 5, [], [])
    assert "any of" in no_results_hint("a OR b", 5, [], [])
