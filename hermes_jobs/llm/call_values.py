"""Types the values of calls whose format writes texts only, by the JSON Schema of the tool's parameters.

A value stays a text where the schema allows a text, or says nothing: `007` of a text is no number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_jobs.llm.payloads import mapping_of
from hermes_jobs.llm.written_calls import WrittenCall, decoded, encoded

_DEEPEST = 8  # references and alternatives within each other
_WORDS = {"True": True, "False": False, "None": None}  # as models that know Python write them
_KINDS: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}


def typed(call: WrittenCall, parameters: Mapping[str, object]) -> WrittenCall:
    """The call with values of the types that the tool's schema names."""
    values = decoded(call.arguments) if call.is_untyped else None
    if values is None:
        return call
    properties = mapping_of(parameters.get("properties"))
    return WrittenCall(
        call.name,
        encoded({key: _typed(value, properties.get(key), parameters) for key, value in values.items()}),
    )


def _typed(text: object, schema: object, root: Mapping[str, object]) -> object:
    kinds = set(_kinds(schema, root))
    if not isinstance(text, str) or not kinds:
        return text
    word = text.strip()
    if "string" in kinds:
        return None if "null" in kinds and word == "null" else text
    value = _WORDS[word] if word in _WORDS else _decoded(word)
    if isinstance(value, float) and value.is_integer() and "number" not in kinds:
        value = int(value)
    return value if kinds.intersection(_KINDS.get(type(value), ())) else text


def _kinds(schema: object, root: Mapping[str, object], depth: int = 0) -> Iterator[str]:
    """The types that the schema allows."""
    node = mapping_of(schema)
    if depth > _DEEPEST:
        return
    kind = node.get("type")
    yield from [kind] if isinstance(kind, str) else filter(_is_text, kind if isinstance(kind, list) else ())
    for word in ("enum", "const"):
        choices = node.get(word, ())
        for choice in choices if isinstance(choices, list) else [choices] if word in node else []:
            yield from ("string",) if isinstance(choice, str) else _KINDS.get(type(choice), ())
    for word in ("anyOf", "oneOf", "allOf"):
        options = node.get(word)
        for option in options if isinstance(options, list) else ():
            yield from _kinds(option, root, depth + 1)
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for step in reference[2:].split("/"):
            target = mapping_of(target).get(step)
        yield from _kinds(target, root, depth + 1)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _decoded(word: str) -> object:
    try:
        return json.loads(word, parse_constant=str)
    except (ValueError, RecursionError):
        return word
