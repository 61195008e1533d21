"""The base class of all events."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base class of all events. The class's name is the stored type.

    A field with its default value is not stored: never change a default.
    """
