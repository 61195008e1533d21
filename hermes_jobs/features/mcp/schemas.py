"""Schemas of arguments, in the form that every provider takes.

Providers refuse a whole request for one schema that they do not take: one whose root is an alternative
(`oneOf`, `anyOf`, `allOf`, `$ref`), an array without `items`, keywords of old drafts with another meaning, an
argument called `$filter` or `filter[id]`, an unresolvable reference, or an invalid JSON Schema. The first
four are rewritten, and the server checks what that loses; the others cannot be used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

Schema = dict[str, Any]

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties"),
    *("not", "contains", "propertyNames", "if", "then", "else"),
)
_MAY_BE_NULL = frozenset({"default", "const"})
_NOT_AT_ROOT = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const", "$schema"})
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
MAX_ARGUMENT = 64
_ARGUMENT = re.compile(rf"[a-zA-Z0-9_.-]{{1,{MAX_ARGUMENT}}}")
"""The names of arguments that Anthropic takes; it checks those of the root only."""
MAX_MERGES = 100
NOT_CHECKED = frozenset({"pattern", "patternProperties", "format", "$schema", "$id", "uniqueItems"})
"""Keywords that are left to the server, because checking them could take without end."""
MAX_STEPS = 5_000
"""Parts of a schema, references followed; beyond that nothing is checked against it."""


class UnusableSchema(Exception):
    """No provider accepts the schema; the message is the reason."""


def adapt(schema: Mapping[str, Any]) -> Schema:
    """The schema in that form. Raises `UnusableSchema`."""
    root = _modern(dict(schema))
    _check_form(root)
    _check_references(root)
    return {"properties": {}, **_merged(root, root, [0]), "type": "object"}


def rename_properties(schema: Schema) -> tuple[Schema, dict[str, str]]:
    """An adapted schema whose arguments have names that every provider takes, and the server's own names of
    those that were changed, by the new name."""
    properties = _dict(schema, "properties")
    own: dict[str, str] = {}
    for name in properties:
        if _ARGUMENT.fullmatch(name) is None:
            own[_free_name(name, properties.keys() | own.keys())] = name
    if not own:
        return schema, {}
    new = {before: after for after, before in own.items()}
    changed = {
        **schema,
        "properties": {new.get(name, name): property_schema for name, property_schema in properties.items()},
    }
    if required := _list(schema, "required"):
        changed["required"] = [new.get(name, name) for name in required]
    return changed, own


def _free_name(name: str, used: Set[str]) -> str:
    short = re.sub(r"[^a-zA-Z0-9.-]+", "_", name).strip("_")[:MAX_ARGUMENT] or "argument"
    number, free = 1, short
    while free in used:
        number += 1
        free = f"{short[: MAX_ARGUMENT - 4]}_{number}"
    return free


def _modern(schema: Any) -> Any:
    """The schema by the draft 2020-12, in all its parts, without keywords that have no value."""
    if not isinstance(schema, dict):
        return schema
    stated = {name: value for name, value in schema.items() if value is not None or name in _MAY_BE_NULL}
    modern = _with_parts(stated, _modern)
    if isinstance(modern.get("items"), list):  # a tuple of the draft 7
        modern["prefixItems"] = modern.pop("items")
        if "additionalItems" in modern:
            modern["items"] = modern.pop("additionalItems")
    for exclusive, inclusive in _BOUNDS:  # of the draft 4
        if modern.get(exclusive) is True and inclusive in modern:
            modern[exclusive] = modern.pop(inclusive)
        elif isinstance(modern.get(exclusive), bool):
            del modern[exclusive]
    kinds = modern.get("type")
    is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    if is_array and not {"items", "prefixItems"} & modern.keys():
        modern["items"] = {}
    return modern


def _with_parts(schema: Schema, change: Callable[[Any], Any]) -> Schema:
    """The schema with its direct parts changed; data such as `default` and `enum` stays."""
    result = dict(schema)
    for name in _MAPS:
        if isinstance(result.get(name), dict):
            result[name] = {key: change(part) for key, part in result[name].items()}
    for name in (*_LISTS, "items"):
        if isinstance(result.get(name), list):
            result[name] = [change(part) for part in result[name]]
    for name in _SINGLE:
        if isinstance(result.get(name), dict):
            result[name] = change(result[name])
    return result


def _parts(schema: Any) -> Iterator[Schema]:
    """The schema and all its parts."""
    if not isinstance(schema, dict):
        return
    yield schema
    direct: list[Any] = []

    def noted(part: Any) -> Any:
        direct.append(part)
        return part

    _with_parts(schema, noted)
    for child in direct:
        yield from _parts(child)


def _check_references(root: Schema) -> None:
    for part in _parts(root):
        reference = part.get("$ref")
        if reference is None:
            continue
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise UnusableSchema(f"it refers to another document ({str(reference)[:100]})")
        if not isinstance(part_at(root, reference), dict | bool):
            raise UnusableSchema(f"it refers to {reference[:100]}, which is not there")


def part_at(root: Any, reference: str) -> Any:
    """What a reference such as `#/$defs/colour` points to; None where that is nothing."""
    for name in reference.removeprefix("#").removeprefix("/").split("/") if reference != "#" else ():
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(root, list) and key.isdecimal() and int(key) < len(root):
            root = root[int(key)]
        else:
            root = root.get(key) if isinstance(root, dict) else None
    return root


def _merged(root: Schema, schema: Any, counted: list[int]) -> Schema:
    """A root without alternatives: the properties that any of them has; required is what all require."""
    counted[0] += 1
    if not isinstance(schema, dict) or counted[0] > MAX_MERGES:
        return {}
    result = {name: value for name, value in schema.items() if name not in _NOT_AT_ROOT}
    parts = [_merged(root, part, counted) for part in _list(schema, "allOf")]
    target = part_at(root, schema["$ref"]) if "$ref" in schema else root
    if target is not root:
        parts.append(_merged(root, target, counted))
    parts += [_any_of(root, _list(schema, name), counted) for name in ("anyOf", "oneOf") if schema.get(name)]
    for part in parts:
        result = {**part, **result, **_joined(part, result)}
    return result


def _joined(first: Schema, second: Schema) -> Schema:
    """The properties and requirements of both, those of the second before those of the first."""
    properties = {**_dict(first, "properties"), **_dict(second, "properties")}
    required = list(dict.fromkeys((*_list(second, "required"), *_list(first, "required"))))
    both: Schema = {"properties": properties, "required": required}
    return {name: value for name, value in both.items() if value}


def _any_of(root: Schema, alternatives: list[Any], counted: list[int]) -> Schema:
    branches = [_merged(root, alternative, counted) for alternative in alternatives]
    properties: Schema = {}
    for branch in branches:
        for name, value in _dict(branch, "properties").items():
            before = properties.setdefault(name, value)
            if before != value:
                properties[name] = {"anyOf": [*(_list(before, "anyOf") or [before]), value]}
    required = [set(_list(branch, "required")) for branch in branches]
    return _joined({"properties": properties, "required": sorted(set.intersection(*required))}, {})


def _dict(schema: Any, name: str) -> Schema:
    value = schema.get(name) if isinstance(schema, dict) else None
    return value if isinstance(value, dict) else {}


def _list(schema: Any, name: str) -> list[Any]:
    value = schema.get(name) if isinstance(schema, dict) else None
    return value if isinstance(value, list) else []


def _check_form(root: Schema) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    checked = {name: value for name, value in root.items() if name != "$schema"}
    error = best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(checked))
    if error is not None:
        place = ".".join(map(str, error.absolute_path))
        raise UnusableSchema(f"it is no JSON Schema ({place}: {str(error.message)[:200]})")


def checkable(schema: Any) -> Any:
    """The schema without the keywords that are not checked."""
    if isinstance(schema, list):
        return [checkable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: checkable(item) for key, item in inner.items()}
        if name in ("properties", "$defs", "definitions") and isinstance(inner, dict)
        else checkable(inner)
        for name, inner in schema.items()
        if name not in NOT_CHECKED
    }


def is_too_large(schema: Any) -> bool:
    """Whether the schema has too many parts to be checked against."""
    return _steps(schema, schema, (), [0]) > MAX_STEPS


def _steps(root: Any, part: Any, inside: tuple[str, ...], counted: list[int]) -> int:
    """The parts of a schema when every reference is followed; stops at too many."""
    counted[0] += 1
    if counted[0] > MAX_STEPS:
        return counted[0]
    if isinstance(part, list):
        for item in part:
            _steps(root, item, inside, counted)
    elif isinstance(part, dict):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/") and reference not in inside:
            _steps(root, part_at(root, reference), (*inside, reference), counted)
        for name, item in part.items():
            if name not in ("$defs", "definitions"):
                _steps(root, item, inside, counted)
    return counted[0]
