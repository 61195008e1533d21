"""Validates arguments of calls against a server's schema.

The schema is untrusted: its references are never fetched, and patterns, which could run without end, are left
to the server. An unusable schema accepts every object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from hermes_jobs.agent.tools.tool import Arguments, InvalidArguments, did_you_mean

NOT_CHECKED = frozenset({"pattern", "patternProperties", "format", "$schema", "$id", "uniqueItems"})
MOST_STEPS = 5_000
"""Parts of a schema, references followed; a larger schema is not checked."""

Check = Callable[[Arguments], str]
"""The errors of arguments; empty if there are none."""


def validated(parameters: Mapping[str, Any], written: Arguments) -> Arguments:
    """The arguments, if valid. Raises `InvalidArguments`, which names the argument."""
    written = _unwrapped(parameters, written)
    problem = _check(json.dumps(parameters, sort_keys=True))(written)
    if problem:
        raise InvalidArguments(problem)
    return written


def _unwrapped(parameters: Mapping[str, Any], written: Arguments) -> Arguments:
    """Convert texts to the schema's types: small models write numbers, lists and objects as texts."""
    properties = parameters.get("properties", {})
    changed = dict(written)
    for name, value in written.items():
        kind = properties.get(name, {}).get("type") if isinstance(properties.get(name), dict) else None
        if isinstance(value, str) and kind in ("integer", "number", "boolean", "array", "object"):
            try:
                changed[name] = msgspec.json.decode(value)
            except msgspec.DecodeError:
                continue
    return changed


@lru_cache(maxsize=512)
def _check(schema_text: str) -> Check:
    schema = _checkable(json.loads(schema_text))
    if _steps(schema, schema, (), [0]) > MOST_STEPS:
        return lambda _written: ""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return lambda _written: ""
    registry: Registry[Any] = Registry()
    validator = Draft202012Validator(schema, registry=registry)
    known = list(schema.get("properties", {}))

    def check(written: Arguments) -> str:
        try:
            error = best_match(validator.iter_errors(dict(written)))
        except (Unresolvable, RecursionError, ValueError, TypeError):
            return ""
        return "" if error is None else _told(error, known)

    return check


def _checkable(value: Any) -> Any:
    if isinstance(value, list):
        return [_checkable(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {key: _checkable(each) for key, each in inner.items()}
        if name in ("properties", "$defs", "definitions") and isinstance(inner, dict)
        else _checkable(inner)
        for name, inner in value.items()
        if name not in NOT_CHECKED
    }


def _steps(root: Any, part: Any, inside: tuple[str, ...], counted: list[int]) -> int:
    """The parts of a schema, references followed; stops at too many."""
    counted[0] += 1
    if counted[0] > MOST_STEPS:
        return counted[0]
    if isinstance(part, list):
        for each in part:
            _steps(root, each, inside, counted)
    elif isinstance(part, dict):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/") and reference not in inside:
            _steps(root, _at(root, reference), (*inside, reference), counted)
        for name, each in part.items():
            if name not in ("$defs", "definitions"):
                _steps(root, each, inside, counted)
    return counted[0]


def _at(root: Any, reference: str) -> Any:
    for name in reference[2:].split("/"):
        root = root.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root


def _told(error: Any, known: list[str]) -> str:
    where = ".".join(str(each) for each in error.absolute_path)
    message = str(error.message)
    if error.validator == "additionalProperties" and not where:
        extra = [name for name in error.instance if name not in known]
        name = extra[0] if extra else ""
        return f"unknown argument `{name}`{did_you_mean(name, known)} The arguments are: {', '.join(known)}."
    if error.validator == "required" and not where:
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"the argument `{missing[0]}` is missing" if missing else message
    message = message if len(message) <= 300 else f"{message[:300]}…"
    return f"the argument `{where}` is wrong: {message}" if where else message
