"""`/openapi.json`: the document of the API, made of the types that its operations take and give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from hermes_jobs.features.api.wire import ErrorJson, Operation

REF = "#/components/schemas/{name}"
FAILURES = {
    "400": "The request is wrong.",
    "401": "There is no key, or it was revoked.",
    "403": "The key lacks the scope.",
    "404": "There is no such thing.",
    "409": "It cannot be done as things are.",
    "413": "The body is too large.",
    "429": "The key's budget is used up, or there were too many requests.",
    "502": "The turn has failed.",
    "503": "No worker is alive, or the log cannot be reached.",
}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document of those operations, OpenAPI 3.1."""
    listed = tuple(operations)
    kinds = [each.gives for each in listed] + [each.takes for each in listed if each.takes] + [ErrorJson]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF)
    schema_of = dict(zip(map(id, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in listed:
        described = _described(each, schema_of, components)
        paths.setdefault(each.path, {})[each.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "hermes-jobs", "version": _version()},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _described(
    operation: Operation, schema_of: Mapping[int, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    scopes = " or ".join(operation.scopes)
    answers: dict[str, Any] = {"200": _content("Done.", schema_of[id(operation.gives)])}
    for status, text in FAILURES.items():
        answers[status] = _content(text, schema_of[id(ErrorJson)])
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    described: dict[str, Any] = {
        "operationId": operation.run.__name__,
        "summary": operation.summary,
        "description": f"Needs the scope {scopes}.",
        "responses": answers,
    }
    if operation.takes is not None:
        schema = schema_of[id(operation.takes)]
        if operation.method == "GET":
            parameters += _query(components[schema["$ref"].rpartition("/")[2]])
        else:
            described["requestBody"] = {"required": True, **_content("", schema)}
            del described["requestBody"]["description"]
    return {**described, "parameters": parameters} if parameters else described


def _content(text: str, schema: Any) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _query(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of the struct as parameters of a query."""
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(field)}
        for name, field in schema.get("properties", {}).items()
    ]


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A query cannot say null: a parameter is left out."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return (
        choices[0]
        if len(choices) == 1
        else {key: value for key, value in schema.items() if value is not None}
    )


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("hermes-jobs")
