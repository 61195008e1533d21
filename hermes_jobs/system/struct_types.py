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

_described: WeakSet[object] = WeakSet()
_describing = threading.Lock()


def described(kind: type[T]) -> type[T]:
    """The type itself, described: for `type=` of a decoder, and for `convert`, in code that threads run."""
    if kind not in _described:
        with _describing:
            msgspec.json.Decoder(kind)
            _described.add(kind)
    return kind
