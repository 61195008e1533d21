"""The root of all events."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Root of all events. The class's name is the stored type.

    A field that has its default is not stored: a default is never changed.
    """
