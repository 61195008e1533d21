"""Schemas with regular expressions, applied within a time."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.kernel.engine.bounded_schema import answer_faults
from hermes_jobs.text.json_schema import faults

DIGITS = json.dumps({"type": "string", "pattern": "^[0-9]+$"})
ENDLESS = json.dumps({"type": "object", "patternProperties": {"(a+)+$": {"type": "null"}}})


@pytest.mark.parametrize("schema", [DIGITS, json.dumps({"type": "string"})])
@pytest.mark.parametrize("document", ['"12"', '"ä\\ud83d"', "12"])
def test_the_errors_equal_those_without_a_limit(schema: str, document: str) -> None:
    assert answer_faults(schema, document, 60) == faults(schema, document)


def test_a_pattern_that_would_take_for_ever_is_ended() -> None:
    (fault,) = answer_faults(ENDLESS, json.dumps({"a" * 200 + "!": 1}), 0.2)
    assert fault == "the schema's patterns take more than 0.2 seconds"


def test_an_answer_that_is_no_json_says_why() -> None:
    (fault,) = answer_faults(DIGITS, "Seven.")
    assert fault.startswith("it is not JSON: ")
