"""The notation of the phrase rules, and that each rule has a sentence in the tables."""

from __future__ import annotations

import pytest

from schedules.phrases.patterns import compiled
from schedules.phrases.scan import RULES
from schedules.phrases.tokens import Phrase, Sentence
from tests.schedules.tables import refused, understood


def match(pattern: str, text: str) -> Phrase | None:
    """The pattern at the beginning of the text."""
    return Sentence(text).match(pattern, 0)


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        ("every day", "every day at 9", 2),
        ("every day", "everyday", None),
        ("[on] the day", "on the day", 3),
        ("[on] the day", "the day", 2),
        ("(on | at) the", "at the", 2),
        ("a (b c)*", "a b c b c d", 5),
        ("`n:\\d+` | noon", "9", 1),
        ("`n:\\d+`", "nine", None),
        ("<whole>", "twenty-five", 3),
        ("<weekday>", "Monday", 1),
        ("<days>", "Mon, Wed and Fri", 5),
        ("<unit>", "s", None),
        ("<month>", "you may", None),
        ("<holiday>", "Easter", 1),
        ("DAY", "9am", None),
    ],
)
def test_a_pattern_matches_whole_tokens(pattern: str, text: str, end: int | None) -> None:
    found = match(pattern, text)
    assert (found.end if found else None) == end


def test_slots_hold_the_matched_parts() -> None:
    found = match("every <n=whole> <unit=unit> [past=(ago)]", "Every Twenty-Five Minutes")
    assert found is not None
    assert (found.text("unit"), found.raw("unit"), found.number("n")) == ("minutes", "Minutes", 25)
    assert (found.has("past"), found.text("past"), found.has("other")) == (False, "", False)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("in May", "SHORTMONTH"),
        ("on 3 may", "SHORTMONTH"),
        ("you may", None),
        ("in March", "MONTH"),
        ("to march", None),
    ],
)
def test_may_and_march_are_months_by_their_capital_or_their_neighbours(text: str, tag: str | None) -> None:
    sentence = Sentence(text)
    assert (sentence.match("MONTH | SHORTMONTH", len(sentence) - 1) is not None) is (tag is not None)


@pytest.mark.parametrize("text", ['"every day"', "`every day`", "https://every.day", "a@every.day"])
def test_no_pattern_looks_into_quotes_and_addresses(text: str) -> None:
    assert match("every", text) is None
    assert match("`opaque:`", text) is not None


def test_a_placeholder_word_cannot_be_named_in_a_pattern() -> None:
    with pytest.raises(AssertionError, match="DAY"):
        compiled("every monday")


def test_each_rule_matches_somewhere_in_the_tables() -> None:
    texts = [meaning.sentence for meaning in understood()] + [sentence for sentence, _ in refused()]
    sentences = [Sentence(text) for text in texts]
    unused = [
        rule.pattern
        for rule in RULES
        if not any(sentence.match(rule.pattern, at) for sentence in sentences for at in range(len(sentence)))
    ]
    assert unused == []
