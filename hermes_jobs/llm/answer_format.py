"""A schema for the answer as a parameter of requests, so that a server generates nothing else.

The answer is checked against the schema in any case; the parameter only makes it likelier that it fits.
Sources: https://platform.openai.com/docs/guides/structured-outputs,
https://platform.claude.com/docs/en/build-with-claude/structured-outputs
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.llm.dialect import Dialect

Json = dict[str, Any]

NAME = "answer"
_NOT_STRICT = frozenset(
    {
        "allOf",
        "oneOf",
        "not",
        "if",
        "patternProperties",
        "dependentRequired",
        "dependentSchemas",
        "prefixItems",
    }
)


def response_format(request: ModelRequest, dialect: Dialect) -> Json:
    """The parameter of Chat Completions; empty for none."""
    schema = _schema(request, dialect)
    return {"response_format": {"type": "json_schema", "json_schema": schema}} if schema else {}


def text_format(request: ModelRequest, dialect: Dialect) -> Json:
    """The parameter of the Responses API; empty for none."""
    schema = _schema(request, dialect)
    return {"text": {"format": {"type": "json_schema", **schema}}} if schema else {}


def output_format(request: ModelRequest) -> Json:
    """`output_config.format` of the Messages API, which takes closed objects only; empty for none."""
    schema = msgspec.json.decode(request.answer_schema or "{}", type=Json)
    return (
        {"type": "json_schema", "schema": schema} if schema and all(map(_is_closed, _parts(schema))) else {}
    )


def _schema(request: ModelRequest, dialect: Dialect) -> Json:
    """The schema with its name; empty where tools may be called, and the endpoint would not let them be."""
    if not request.answer_schema or not dialect.constrains:
        return {}
    if request.offered and (not dialect.family.schema_beside_tools or dialect.tool_calls == "text"):
        return {}
    schema = msgspec.json.decode(request.answer_schema, type=Json)
    return {"name": NAME, "schema": schema, "strict": _is_strict(schema)}


def _is_strict(schema: Json) -> bool:
    """Whether OpenAI generates by it strictly: an object, closed at every level, every property required."""
    return schema.get("type") == "object" and all(
        _is_closed(part)
        and not _NOT_STRICT.intersection(part)
        and set(part.get("properties", ())) <= set(part.get("required", ()))
        for part in _parts(schema)
    )


def _is_closed(part: Json) -> bool:
    is_object = part.get("type") == "object" or "properties" in part
    return not is_object or part.get("additionalProperties") is False


def _parts(schema: object) -> Iterator[Json]:
    """The schema and its subschemas. The values of `enum`, `const` and the like are not schemas."""
    match schema:
        case list():
            for part in schema:
                yield from _parts(part)
        case dict():
            yield schema
            for key in ("items", "anyOf", "allOf", "oneOf", "not", "if", "then", "else", "prefixItems"):
                yield from _parts(schema.get(key))
            for key in ("properties", "$defs", "definitions", "patternProperties"):
                within = schema.get(key)
                yield from _parts([*within.values()] if isinstance(within, dict) else None)
        case _:
            pass
