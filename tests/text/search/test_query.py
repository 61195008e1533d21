"""What a query means, and that whatever is typed means something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.search import MAX_CHARS, All, AnyOf, Term, Without, is_cut, parse, positive_terms
from hermes_jobs.text.search.query import MAX_DEPTH, MAX_TERMS, Expression

NASTY = (
    *"\"“”()*:-_/@#+'’`^~{}[]<>,;.!?\\|&%$=\t\n\x00 ",
    *(
        "AND",
        "OR",
        "NOT",
        "NEAR",
        "and",
        "a",
        "foo",
        "naïve",
        "ß",
        "C++",
        "3.11",
        "模",
        "模型",
        "검색",
        "カタ",
    ),
    *("ไทย", "🚀", "❤️", "👩\u200d💻", "e\u0301", "\ud800", "\u202e", "\ue000", "ﬁ", "İ"),
)
QUERIES = st.lists(st.sampled_from(NASTY), max_size=14).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda gap: gap.join(parts))
)


def term(text: str, *, prefix: bool = False) -> Term:
    return Term(text, prefix)


A, B, C = map(term, "abc")


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("a", A),
        ("a b", All((A, B))),
        ("a AND b", All((A, B))),
        ("a OR b", AnyOf((A, B))),
        ("a b OR c", AnyOf((All((A, B)), C))),
        ("a NOT b", Without(A, (B,))),
        ("a AND NOT b", Without(A, (B,))),
        ("a NOT b NOT c", Without(A, (B, C))),
        ("NOT b a", Without(A, (B,))),
        ("a NOT NOT b", All((A, B))),
        ("(a OR b) c", All((AnyOf((A, B)), C))),
        ("a NOT (b c)", Without(A, (All((B, C)),))),
        ("a (b (c))", All((A, B, C))),
        ("a a", A),
        ('"a b"', term("a b")),
        ("“a b”", term("a b")),
        ('"a b" c*', All((term("a b"), term("c", prefix=True)))),
        ('"a b"*', term("a b", prefix=True)),
        ("deploy*", term("deploy", prefix=True)),
        ("Größe GROSSE", All((term("große"), term("grosse")))),
        ("or and not", All((term("or"), term("and"), term("not")))),
    ],
)
def test_operators_quotes_stars_and_brackets_are_parsed(query: str, meaning: Expression) -> None:
    assert parse(query) == meaning


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("AND a", A),
        ("a OR", A),
        ("OR OR a", A),
        ("NOT a", A),
        ("a NOT", A),
        ("a AND OR b", AnyOf((A, B))),
        ("a OR NOT", A),
        ('"a', A),
        ('a"', A),
        ('a "" b', All((A, B))),
        ("(a", A),
        ("a)", A),
        (")a( b", All((A, B))),
        ("a () b", All((A, B))),
        ("* a **", A),
        ("*a", A),
        ("a -- b", All((A, B))),
        ('print("a")', All((term("print"), A))),
    ],
)
def test_operators_without_operands_and_single_brackets_are_dropped(query: str, meaning: Expression) -> None:
    assert parse(query) == meaning


@pytest.mark.parametrize(
    ("query", "phrase"),
    [
        ("src/app/main.py", "src/app/main.py"),
        ("anna.b@example.com,", "anna.b@example.com"),
        ("https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
        ("v1.2.3-rc1", "v1.2.3-rc1"),
        ("it’s", "it’s"),
        ("what?", "what"),
        ("C++", "c++"),
        ("main()", "main"),
        ("nginx.", "nginx"),
        (".env", ".env"),
        ("a:b", "a:b"),
        ("foo*bar", "foo bar"),
    ],
)
def test_a_term_with_other_characters_is_one_phrase(query: str, phrase: str) -> None:
    assert parse(query) == Term(phrase)


@pytest.mark.parametrize("query", ["", " ", "AND", "NOT OR", '""', "()", "***", "—", "\x00", "→ ─", "\ue000"])
def test_a_query_without_anything_to_search_for_means_nothing(query: str) -> None:
    assert parse(query) is None


def test_a_long_query_is_read_as_far_as_it_may_be() -> None:
    query = "x" * (MAX_CHARS - 1) + " tail"
    assert is_cut(query)
    assert parse(query) == Term("x" * (MAX_CHARS - 1))
    assert not is_cut("x" * MAX_CHARS)
    many = parse(" ".join(f"w{number}" for number in range(500)))
    assert isinstance(many, All)
    assert len(many.parts) == MAX_TERMS


def test_brackets_are_followed_only_so_deep() -> None:
    assert parse("(" * 900 + "a b" + ")" * 900) == All((A, B))
    nested = parse("".join(f"(a{depth} OR (b{depth} " for depth in range(100)))
    assert nested is not None
    assert depth_of(nested) <= 2 * MAX_DEPTH + 2


def depth_of(expression: Expression) -> int:
    match expression:
        case Term():
            return 0
        case All(parts) | AnyOf(parts):
            return 1 + max(map(depth_of, parts))
        case Without(wanted, unwanted):
            return 1 + max(map(depth_of, (wanted, *unwanted)))


@given(QUERIES)
def test_every_query_means_something_or_nothing(query: str) -> None:
    meaning = parse(query)
    if meaning is not None:
        assert positive_terms(meaning)


@given(st.text(max_size=60))
def test_every_text_is_a_query(text: str) -> None:
    parse(text)
