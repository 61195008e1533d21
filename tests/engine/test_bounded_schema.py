"""Schemas with regular expressions, applied within a time."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.engine.bounded_schema import faults_within
from hermes_jobs.text.json_schema import faults

DIGITS = json.dumps({"type": "string", "pattern": "^[0-9]+$"})
ENDLESS = json.dumps({"type": "object", "patternProperties": {"(a+)+$": {"type": "null"}}})


@pytest.mark.parametrize("schema", [DIGITS, json.dumps({"type": "string"})])
@pytest.mark.parametrize("document", ['"12"', '"ä\\ud83d"', "12"])
def test_what_is_wrong_is_the_same_as_without_a_limit(schema: str, document: str) -> None:
    assert faults_within(schema, document, 60) == faults(schema, document)


def test_a_pattern_that_would_take_for_ever_is_ended() -> None:
    assert faults_within(ENDLESS, json.dumps({"a" * 200 + "!": 1}), 0.2) is None
