"""Describing types to msgspec, one thread at a time.

msgspec describes a struct to itself when the first decoder for it is made. Another thread that decodes the
struct, or one that holds it, before the description is whole ends the process with SIGSEGV.
"""

from __future__ import annotations

import threading
from typing import TypeVar
from weakref import WeakSet

import msgspec

T = TypeVar("T")

_classes: WeakSet[type] = WeakSet()
_forms: set[object] = set()  # unions and generic types: they cannot all be referenced weakly, and are few
_describing = threading.Lock()


def described(kind: type[T]) -> type[T]:
    """The type itself, described: for `type=` of a decoder, and for `convert`, in code that threads run."""
    form: object = kind
    cache: WeakSet[type] | set[object] = _classes if isinstance(form, type) else _forms
    if kind not in cache:
        with _describing:
            msgspec.json.Decoder(kind)
            cache.add(kind)
    return kind


def all_fields(value: object) -> object:
    """The value as JSON types with all its fields, also its defaults, but for those that were never set."""
    match value:
        case msgspec.Struct():
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return {name: all_fields(field) for name, field in fields if field is not msgspec.UNSET}
        case tuple():
            return [all_fields(item) for item in value]
        case _:
            return value
