"""JSON Schemas as text: which can be used, which document an answer is, and what is wrong with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.json_schema import (
    LARGEST_SCHEMA,
    LONGEST_FAULT,
    MOST_FAULTS,
    compact,
    document_in,
    faults,
    has_patterns,
    schema_fault,
)

PERSON = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0},
            "born": {"type": "string", "format": "date"},
            "friends": {"type": "array", "items": {"$ref": "#"}},
            "pet": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["kind"]}]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
)
DRAFT_7 = '{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"string"}},'


@pytest.mark.parametrize(
    "schema",
    [
        PERSON,
        "{}",
        f'{DRAFT_7}"items":{{"$ref":"#/definitions/a"}}}}',
        '{"$id":"https://a.example/b","$defs":{"x":{"$anchor":"here"}},"properties":{"y":{"$ref":"#here"}}}',
        '{"$ref":"https://json-schema.org/draft/2020-12/schema"}',
        '{"properties":{"$ref":{"type":"string"}}}',
        '{"$schema":"https://elsewhere.example/own","type":"string"}',
    ],
)
def test_a_schema_of_any_draft_can_be_used(schema: str) -> None:
    assert schema_fault(schema) == ""


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ("{", "not JSON"),
        ('{"const":NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ("true", "not a JSON object"),
        ('{"type":"objekt"}', "$.type: 'objekt'"),
        ('{"pattern":"("}', "$.pattern: '(' is not a 'regex'"),
        ('{"$ref":"#/$defs/nowhere"}', "'#/$defs/nowhere' leads nowhere"),
        ('{"items":{"$ref":"http://127.0.0.1:9/x.json"}}', "'http://127.0.0.1:9/x.json' leads nowhere"),
        ('{"$ref":"#"}', "refers to itself without an end"),
        (json.dumps({"title": "x" * LARGEST_SCHEMA}), "100,000 are allowed"),
    ],
)
def test_an_invalid_schema_is_described_shortly(schema: str, fault: str) -> None:
    assert fault in schema_fault(schema)


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ('{"properties":{"a":{"items":[{"pattern":"(a+)+$"}]}}}', True),
        ('{"patternProperties":{"(a+)+$":{}}}', True),
        ('{"properties":{"pattern":{"type":"string"}},"required":["pattern"]}', False),
    ],
)
def test_regular_expressions_are_found_wherever_they_are(schema: str, found: bool) -> None:
    assert has_patterns(schema) is found


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ('{"name":"Ada","age":36,"friends":[{"name":"Charles"}],"pet":null}', ()),
        ("{}", ("$: 'name' is a required property",)),
        ('{"name":"Ada","age":-1}', ("$.age: -1 is less than the minimum of 0",)),
        ('{"name":"Ada","born":"spring"}', ("$.born: 'spring' is not a 'date'",)),
        ('{"name":"Ada","friends":[{}]}', ("$.friends[0]: 'name' is a required property",)),
        ('{"name":"Ada","pet":{}}', ("$.pet: 'kind' is a required property",)),
    ],
)
def test_each_error_has_its_place(document: str, found: tuple[str, ...]) -> None:
    assert faults(PERSON, document) == found


def test_many_and_long_faults_are_cut() -> None:
    found = faults('{"items":{"type":"integer"}}', json.dumps(["x" * 1_000] * 100))
    assert len(found) == MOST_FAULTS
    assert {len(each) for each in found} == {LONGEST_FAULT}


def test_a_schema_that_has_become_useless_is_a_fault() -> None:
    """As when a word of it was redacted after the turn was submitted."""
    assert "cannot be used" in faults('{"$ref":"#/$defs/[redacted]"}', "1")[0]
    assert "cannot be used" in faults('{"properties":{"a":{"$ref":"#/properties/a"}}}', '{"a":1}')[0]


@pytest.mark.parametrize(
    ("answer", "document"),
    [
        (' {"a": 1}\n', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ("Here it is:\n\n```\n[\n  1\n]\n```\nAnything else?", "[\n  1\n]"),
        ('"a ``` b"', '"a ``` b"'),
    ],
)
def test_the_document_of_an_answer_is_its_text_or_its_only_fence(answer: str, document: str) -> None:
    assert document_in(answer) == document


@pytest.mark.parametrize(
    "answer", ["", "It is 1.", "```\n1\n```\n```\n2\n```", "```\nno\n```", "NaN", "1e999"]
)
def test_an_answer_without_one_document_says_so(answer: str) -> None:
    with pytest.raises(ValueError, match=r"JSON"):
        document_in(answer)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_compacting_keeps_the_value_and_makes_one_line_of_text(value: object) -> None:
    made = compact(json.dumps(value, indent=1))
    assert json.loads(made) == value
    assert "\n" not in made
    assert made.encode()


def test_half_a_surrogate_pair_stays_escaped() -> None:
    assert compact('"\\ud800"') == '"\\ud800"'
