"""Upcasts: convert the stored form of an old event to the current one.

One entry per change of a type's stored form: (type, schema) → a function from that schema's fields to the
next schema's. They are applied step by step, so each knows two neighbouring forms only. Fields added with a
default need no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fields = dict[str, Any]
Upcast = Callable[[Fields], Fields]
UpcastTable = Mapping[tuple[str, int], Upcast]

UPCASTS: UpcastTable = {}


def current_schema(kind: str, table: UpcastTable = UPCASTS) -> int:
    """The schema number that the type is stored with: 1, and one more for each upcast."""
    return 1 + max((schema for name, schema in table if name == kind), default=0)


def upcast(kind: str, schema: int, fields: Fields, table: UpcastTable = UPCASTS) -> Fields:
    """The fields in the type's current form, from the form that `schema` names.

    Raises `KeyError` where the table leaves out a schema between that one and the current.
    """
    for number in range(schema, current_schema(kind, table)):
        fields = table[kind, number](fields)
    return fields
