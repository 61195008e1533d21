"""Which types are stored: events, and the structs inside them; an example of each event."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import msgspec
from msgspec import inspect

import tests.eventlog
from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES

EXAMPLES: tuple[Event, ...] = tuple(
    example
    for module in iter_modules(tests.eventlog.__path__)
    if module.name.endswith("_examples")
    for example in import_module(f"tests.eventlog.{module.name}").EXAMPLES
)
"""Those of every module `…_examples` here, each with all its fields set."""


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
        for part in ("type", "item_type", "key_type", "value_type"):
            if (inner := getattr(node, part, None)) is not None:
                visit(inner)
        for part in ("types", "item_types"):
            for inner in getattr(node, part, ()):
                visit(inner)

    for kind in EVENT_TYPES.values():
        visit(inspect.type_info(kind))
    return found
