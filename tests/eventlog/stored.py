"""Which types are stored: events, and the structs inside them."""

from __future__ import annotations

import msgspec
from msgspec import inspect

from hermes_jobs.kernel.streams.event_types import EVENT_TYPES


def stored_structs() -> set[type[msgspec.Struct]]:
    """Every event type, and all structs that are inside one, at whatever depth."""
    found: set[type[msgspec.Struct]] = set()

    def visit(node: object) -> None:
        if isinstance(node, inspect.StructType):
            if node.cls in found:
                return
            found.add(node.cls)
            for field in node.fields:
                visit(field.type)
        for part in ("item_type", "key_type", "value_type"):
            if (inner := getattr(node, part, None)) is not None:
                visit(inner)
        for part in ("types", "item_types"):
            for inner in getattr(node, part, ()):
                visit(inner)

    for kind in EVENT_TYPES.values():
        visit(inspect.type_info(kind))
    return found
