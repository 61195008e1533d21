"""The schema for an answer as each API takes it, where it takes one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.anthropic.request import RequestOptions, without
from hermes_jobs.llm.anthropic.request import request_body as messages_body
from hermes_jobs.llm.dialect import OPENAI_URL, PLAIN, ApiOptions, first_dialect
from hermes_jobs.llm.render import request_body
from hermes_jobs.llm.responses import responses_body
from tests.llm.anthropic.histories import everything
from tests.llm.asking import request

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"pets": {"type": "array", "items": {"$ref": "#/$defs/pet"}}},
    "required": ["pets"],
    "additionalProperties": False,
    "$defs": {
        "pet": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        }
    },
}
OPEN = {**CLOSED, "additionalProperties": True}
OPTIONAL = {**CLOSED, "required": []}
OPEN_WITHIN = {**CLOSED, "$defs": {"pet": {"type": "object", "properties": {"name": {"type": "string"}}}}}
OPENAI = first_dialect(OPENAI_URL, "gpt-5")
RESPONSES = first_dialect(OPENAI_URL, "gpt-5", ApiOptions(api="responses"))


def asked(schema: dict[str, Any] = CLOSED, *, tools: bool = False) -> ModelRequest:
    made = request("Who?", tools=("look",) if tools else ())
    return replace(made, answer_schema=json.dumps(schema))


@pytest.mark.parametrize(
    ("schema", "strict"), [(CLOSED, True), (OPEN, False), (OPTIONAL, False), (OPEN_WITHIN, False)]
)
def test_it_is_strict_where_it_is_closed_at_every_level(schema: dict[str, Any], strict: bool) -> None:
    chat = request_body(asked(schema), OPENAI)["response_format"]
    assert chat == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": strict},
    }
    responses = responses_body(asked(schema), RESPONSES)["text"]["format"]
    assert responses == {"type": "json_schema", **chat["json_schema"]}


@pytest.mark.parametrize("schema", [{"type": "array"}, {"anyOf": [CLOSED]}, {**CLOSED, "not": {}}])
def test_schemas_outside_openais_strict_subset_are_not_strict(schema: dict[str, Any]) -> None:
    assert request_body(asked(schema), OPENAI)["response_format"]["json_schema"]["strict"] is False


def test_beside_tools_only_those_get_it_that_still_let_them_be_called() -> None:
    assert "response_format" in request_body(asked(tools=True), OPENAI)
    assert "text" in responses_body(asked(tools=True), RESPONSES)
    assert "response_format" not in request_body(asked(tools=True), PLAIN)
    assert "response_format" in request_body(asked(), PLAIN)


def test_without_a_schema_there_is_none() -> None:
    assert "response_format" not in request_body(request("Hi"), OPENAI)
    assert "text" not in responses_body(request("Hi"), RESPONSES)
    assert "output_config" not in messages_body(claude(request("Hi")), RequestOptions(), everything)


@pytest.mark.parametrize(
    "said",
    [
        "This response_format type is unavailable now",
        "Invalid schema for response_format 'answer': In context=(), 'required' is required",
        "Failed to parse grammar",
        "Function calling with a response mime type: 'application/json' is unsupported",
        "This model does not support response format `json_schema`",
    ],
)
def test_formats_that_an_endpoint_refuses_are_left_out(said: str) -> None:
    changed = adapt(OPENAI, 400, said)
    assert changed is not None
    assert "response_format" not in request_body(asked(), changed)
    assert adapt(changed, 400, said) is None


def claude(made: ModelRequest) -> ModelRequest:
    return replace(made, model="claude-sonnet-4-6")


@pytest.mark.parametrize(
    ("schema", "sent"), [(CLOSED, True), (OPTIONAL, True), (OPEN, False), (OPEN_WITHIN, False)]
)
def test_claude_gets_it_beside_the_effort_where_every_object_is_closed(
    schema: dict[str, Any], sent: bool
) -> None:
    body = messages_body(claude(asked(schema, tools=True)), RequestOptions(effort="low"), everything)
    form = {"format": {"type": "json_schema", "schema": schema}} if sent else {}
    assert body["output_config"] == {"effort": "low", **form}


def test_a_refusal_of_the_schema_leaves_the_effort() -> None:
    conduct = RequestOptions(effort="low")
    changed = without(conduct, "output_config.format.schema: keyword 'minLength' is not supported")
    assert changed == replace(conduct, constrains=False)
