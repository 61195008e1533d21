"""Objects in the text of an answer: all that can be read, whatever surrounds them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.consolidation.steps import answers_of
from hermes_jobs.features.replay.rules.experiment import verdict_of
from hermes_jobs.text.json_objects import MOST_STARTS, json_objects
from hermes_jobs.text.json_schema import document_in

WORDS = st.text(alphabet='abc {}[]"\n`', max_size=20)
OBJECTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(OBJECTS, st.text(alphabet='abc []"\n`', max_size=20), WORDS)
def test_an_object_is_found_whatever_follows_it(value: dict[str, object], before: str, after: str) -> None:
    assert next(json_objects(before + json.dumps(value) + after)) == value


@pytest.mark.parametrize(
    "answer",
    [
        '{"observations": ["a"]} I used {braces} here.',
        'As {asked}: {"observations": ["a"]}',
        '{"note": 1} {"observations": ["a"]} }',
        '```json\n{"observations": ["a"]}\n```\nFormat: {"observations": []}',
    ],
)
def test_observations_are_read_from_among_braces(answer: str) -> None:
    assert answers_of(answer) == ["a"]


def test_a_verdict_is_read_from_among_braces() -> None:
    assert verdict_of('{"better": "1"} since {the first} is whole', first=True) == "better"
    assert verdict_of('In {short}: {"better": 2}.', first=True) == "worse"
    assert verdict_of('{"better": "neither"} {"best": 1}', first=True) is None


def test_what_is_not_an_object_ends_the_search_and_raises_nothing() -> None:
    for text in ("", "{", "{" * 100_000, '{"a":' * 100_000, "[1, 2]", '{"a": 1'):
        assert list(json_objects(text)) == []
    late = "{ " * MOST_STARTS + '{"a": 1}'
    assert list(json_objects(late)) == []


def test_a_block_between_backticks_is_found_and_one_of_two_is_not_guessed() -> None:
    assert document_in('Here:\n```json\n{"a": 1}\n```\nDone.') == '{"a": 1}'
    assert document_in('```\n{"a": 1}```  ') == '{"a": 1}'
    with pytest.raises(ValueError, match="not JSON"):
        document_in('```\n{"a": 1}\n```\n```\n{"b": 1}\n```')


@pytest.mark.timeout(60)  # a search from each opening to the end takes hours
def test_many_openings_of_blocks_cost_no_more_than_their_length() -> None:
    with pytest.raises(ValueError, match="not JSON"):
        document_in("```a\n" * 300_000)
