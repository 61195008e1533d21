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

from hermes_jobs.features.mcp.schemas import checkable, is_too_large
from hermes_jobs.tools.tool import Arguments, InvalidArguments, did_you_mean

MAX_CHECKED_DEPTH = 16
"""Levels of arguments: alternatives in a recursive schema double the work with each."""

Check = Callable[[Arguments], str]
"""The errors of arguments; empty if there are none."""


def validated(parameters: Mapping[str, Any], arguments: Arguments) -> Arguments:
    """The arguments, if valid. Raises `InvalidArguments`, which names the argument."""
    arguments = _unwrapped(parameters, arguments)
    problem = _check(json.dumps(parameters, sort_keys=True))(arguments)
    if problem:
        raise InvalidArguments(problem)
    return arguments


def _unwrapped(parameters: Mapping[str, Any], arguments: Arguments) -> Arguments:
    """Convert texts to the schema's types: small models write numbers, lists and objects as texts."""
    properties = parameters.get("properties", {})
    changed = dict(arguments)
    for name, value in arguments.items():
        kind = properties.get(name, {}).get("type") if isinstance(properties.get(name), dict) else None
        if isinstance(value, str) and kind in ("integer", "number", "boolean", "array", "object"):
            try:
                changed[name] = msgspec.json.decode(value)
            except msgspec.DecodeError:
                continue
    return changed


@lru_cache(maxsize=512)
def _check(schema_text: str) -> Check:
    schema = checkable(json.loads(schema_text))
    if is_too_large(schema):
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
    names = list(schema.get("properties", {}))

    def check(arguments: Arguments) -> str:
        if _is_deep(arguments, MAX_CHECKED_DEPTH):
            return ""
        try:
            error = best_match(validator.iter_errors(dict(arguments)))
        except (Unresolvable, RecursionError, ValueError, TypeError):
            return ""
        return "" if error is None else _explained(error, names)

    return check


def _is_deep(value: Any, levels: int) -> bool:
    """Whether the value is nested more deeply than `levels` levels."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return levels == 0 or any(_is_deep(item, levels - 1) for item in value)


def _explained(error: Any, names: list[str]) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    message = str(error.message)
    if error.validator == "additionalProperties" and not where:
        extra = [name for name in error.instance if name not in names]
        name = extra[0] if extra else ""
        return f"unknown argument `{name}`{did_you_mean(name, names)} The arguments are: {', '.join(names)}."
    if error.validator == "required" and not where:
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"the argument `{missing[0]}` is missing" if missing else message
    message = message if len(message) <= 300 else f"{message[:300]}…"
    return f"the argument `{where}` is wrong: {message}" if where else message
