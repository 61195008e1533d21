"""The base class of all events."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base class of all events. The class's name is the stored type.

    A field with its default value is not stored: never change a default.
    """


class OpaqueEvent(Event, frozen=True, kw_only=True):
    """An event of a feature that this installation does not have: its stored type, form and JSON.

    It is carried and its texts can be removed; nothing is concluded from it.
    """

    type: str
    schema: int
    data: str
