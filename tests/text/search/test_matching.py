"""Where terms stand in texts, and how texts are folded."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.search import Matcher, Term, fold, parse, positive_terms
from hermes_jobs.text.search.folding import normal


def found(query: str, text: str) -> list[str]:
    """What of the text the query's terms match."""
    expression = parse(query)
    assert expression is not None
    return [normal(text)[span.start : span.end] for span in Matcher(positive_terms(expression)).spans(text)]


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("cat", "A Cat, cats and a concatenation", ["Cat"]),
        ("cat*", "A Cat, cats and a concatenation", ["Cat", "cats"]),
        ('"new york"', "New\n York, new-york, new in York", ["New\n York", "new-york"]),
        (
            "src/app/main.py",
            "see src/app/main.py:12 or src.app.main.py",
            ["src/app/main.py", "src.app.main.py"],
        ),
        ("it's", "It’s its it's", ["It’s", "it's"]),
        ("C++", "C, C++, c++17 and CC++", ["C++", "c++"]),
        ("c#", "C# or c, c#it", ["C#"]),
        ("c++17", "C++17, c++ 17, C17 and xc++17", ["C++17", "c++ 17"]),
        ("repo#12", "see repo#12, repo#123 and repo 12", ["repo#12"]),
        ("größe", "Größe GRÖSSE Gro\u0308ße", ["Größe", "Größe"]),
        ("groß", "Größe", []),
        ("モデル", "このモデルは", ["モデル"]),
        ("型", "模型、型号", ["型", "型"]),
        ("GPT模型", "使用GPT模型架构", ["GPT模型"]),
        ("gpt", "使用GPT模型", ["GPT"]),
        ('"검색 기능"', "새 검색 기능을", ["검색 기능"]),
        ("검색기능", "검색 기능", []),
        ("🚀", "go🚀go", ["🚀"]),
        ("❤", "I ❤️ it", ["❤"]),
        ("👩‍💻", "a 👩‍💻 b", ["👩‍💻"]),
        ("ｆｕｌｌ", "full", ["full"]),
    ],
)
def test_terms_are_found_where_they_are_named(query: str, text: str, matches: list[str]) -> None:
    assert found(query, text) == matches


@given(st.text())
def test_folding_keeps_the_length_and_is_folded_once(text: str) -> None:
    assert len(fold(text)) == len(normal(text))
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=st.characters(min_codepoint=0xE000, max_codepoint=0xF8FF)))
def test_no_private_character_is_left(text: str) -> None:
    assert not fold(text).strip()


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_term_is_found_in_any_text_that_holds_it_between_spaces(text: str, before: str, after: str) -> None:
    expression = parse(f'"{text}"')
    if expression is None or '"' in text or "*" in text:
        return
    matcher = Matcher(positive_terms(expression))
    assert all(matcher.holds(at, fold(f"{before} {text} {after}")) for at in range(len(matcher.terms)))


@given(st.text("ab é東.", max_size=12), st.text("ab", min_size=1, max_size=3))
def test_a_word_is_found_wherever_it_is_a_whole_word(text: str, word: str) -> None:
    apart = re.split(r"([^abé]+)", normal(text))
    starts = accumulate(map(len, apart), initial=0)
    alone = [start for start, part in zip(starts, apart, strict=False) if part == word]
    assert [span.start for span in Matcher([Term(word)]).spans(text)] == alone
