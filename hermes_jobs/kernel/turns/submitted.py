"""A turn that the log has taken, by its id and stream."""

from __future__ import annotations

import msgspec


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted text: its turn, or the turn that used its key before."""

    turn: str
    stream: str
