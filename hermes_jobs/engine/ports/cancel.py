"""Taking an act back while it is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

CANCELLED = "cancelled"
"""The reason of a `Cancel`, and the kind of a `ModelError`, where a person wanted no more of it."""


class Cancel(Protocol):
    """How an act learns that it is no longer wanted."""

    @property
    def reason(self) -> str | None:
        """Null while it is wanted; else `cancelled` (by a person) or `shutdown` or `lost`."""

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once, from any thread, when (or at once if) cancelled; returns how to take that back."""

    def share_lease(self) -> int | None:
        """A descriptor, for the caller to close, of the file that says until when the act may go on.

        Such a process inherits it and looks there (`agent.tools.supervisor`): its worker may be frozen,
        or cut off from the log, and cannot cancel it then. Null where no lease limits the act.
        """
