"""Coercion of a model's arguments to the types of a tool, if the meaning is clear.

| asked for            | accepted as well                                                             |
|----------------------|------------------------------------------------------------------------------|
| a list               | one element alone; its JSON in a string                                      |
| an object            | its JSON in a string; a list that holds just the object                      |
| a number             | its digits in a string, a whole number with a decimal point                  |
| true or false        | `"true"`, `"False"`, `"yes"`, `1` …                                          |
| one of several words | the word in other case, with blanks around it                                |
| a text               | a number, true or false; a list that holds just the text                     |
| what may be left out | `null`; an empty string where that is not a value                            |

Anything else stays unchanged, and the validation refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

TRUE, FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
NONE_WORDS = frozenset({"", "null", "none"})
WRAPPERS = frozenset({"arguments", "args", "parameters", "params", "input"})


def decoded_arguments(text: str) -> Any:
    """The JSON value of a call's arguments; empty text and `null` mean no arguments.

    Raises `msgspec.DecodeError`, `RecursionError`.
    """
    value = msgspec.json.decode(text) if text.strip() else {}
    if isinstance(value, str):
        value = _decoded(value, dict)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    return {} if value is None else value


def coerce(shape: type[msgspec.Struct], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the types of a shape's fields, if the meaning is clear; else unchanged."""
    fields = _fields_of(shape)
    if len(values) == 1 and not fields.keys() & values.keys():
        ((wrapper, value),) = values.items()
        inner = _decoded(value, dict) if isinstance(value, str) else value
        if wrapper in WRAPPERS and isinstance(inner, dict):
            values = inner
    return _fields(fields, values)


@lru_cache(maxsize=512)
def _fields_of(shape: type[msgspec.Struct]) -> Mapping[str, inspect.Field]:
    """The shape's fields by name. Cached: a tool's calls use its shape several times each."""
    return {field.encode_name: field for field in _struct(inspect.type_info(shape)).fields}


def choices_at(shape: type[msgspec.Struct], path: str) -> tuple[str, ...]:
    """The choices for a value at a path such as `operations[0].action`; empty: any value."""
    kind: inspect.Type = inspect.type_info(shape)
    for name in path.replace("[", ".[").split("."):
        kind = _bare(kind)
        if name.startswith("[") and isinstance(kind, inspect.VarTupleType | inspect.ListType):
            kind = kind.item_type
        elif isinstance(kind, inspect.StructType):
            types = [field.type for field in kind.fields if field.encode_name == name]
            if not types:
                return ()
            kind = types[0]
    kind = _bare(kind)
    return tuple(map(str, kind.values)) if isinstance(kind, inspect.LiteralType) else ()


def _fields(fields: Mapping[str, inspect.Field], values: Mapping[str, Any]) -> dict[str, Any]:
    coerced_fields: dict[str, Any] = {}
    for name, value in values.items():
        field = fields.get(name)
        if field is None:
            if value is not None:
                coerced_fields[name] = value  # an unknown name is refused elsewhere
            continue
        read = _value(field.type, value)
        if field.required or not (read is None or _is_nothing(field.type, read)):
            coerced_fields[name] = read
    return coerced_fields


def _is_nothing(kind: inspect.Type, value: Any) -> bool:
    """Whether a string means None, for a field that is not a text."""
    if not isinstance(value, str) or isinstance(_bare(kind), inspect.StrType):
        return False
    return value.strip().lower() in NONE_WORDS


def _value(kind: inspect.Type, value: Any) -> Any:
    match _bare(kind):
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return _listed(item, value)
        case inspect.StructType() | inspect.DictType() as struct:
            return _object(struct, value)
        case inspect.BoolType():
            return _truth(value)
        case inspect.IntType() | inspect.FloatType():
            return _number(value)
        case inspect.LiteralType(values=values):
            return _word([str(value) for value in values], value)
        case inspect.StrType() if isinstance(value, bool | int | float):
            return msgspec.json.encode(value).decode()
        case inspect.StrType() if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return value[0]
        case _:
            return value


def _listed(item: inspect.Type, value: Any) -> Any:
    if isinstance(value, str):
        value = _decoded(value, list | dict)
    if isinstance(value, list):
        return [_value(item, element) for element in value]
    single = _value(item, value)
    if isinstance(single, dict):
        return [single]
    text = isinstance(single, str) and bool(single.strip()) and isinstance(_bare(item), inspect.StrType)
    return [single] if text else value


def _object(kind: inspect.StructType | inspect.DictType, value: Any) -> Any:
    if isinstance(value, str):
        value = _decoded(value, dict)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or isinstance(kind, inspect.DictType):
        return value
    return _fields({field.encode_name: field for field in kind.fields}, value)


def _truth(value: Any) -> Any:
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if word in TRUE else False if word in FALSE else value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = float(value) if "." in value or "e" in value.lower() else int(value)
        except ValueError:
            return value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _word(words: list[str], value: Any) -> Any:
    if not isinstance(value, str):
        return value
    folded = value.strip().lower().replace("-", "_").replace(" ", "_")
    return next((word for word in words if word.lower() == folded), value)


def _decoded(text: str, kind: Any) -> Any:
    """The JSON value in a string if it is of that kind; else the string."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _bare(kind: inspect.Type) -> inspect.Type:
    """The type without descriptions, and without "or null"."""
    while True:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            others = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
            if len(others) != 1:
                return kind
            kind = others[0]
        else:
            return kind


def _struct(kind: inspect.Type) -> inspect.StructType:
    bare = _bare(kind)
    assert isinstance(bare, inspect.StructType), bare
    return bare
