"""The root of all facts."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Root of all facts. The class's name is the stored type."""
