"""Cancelling a step while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

CANCELLED = "cancelled"
"""The reason of a `Cancel`, and the kind of a `ModelError`, where a person cancelled it."""


class Cancel(Protocol):
    """The cancellation of a running step."""

    @property
    def reason(self) -> str | None:
        """None while the step may run; else `cancelled` (by a person), `shutdown` or `lost`."""

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once, from any thread, when (or at once if) cancelled; returns a function that removes
        the callback."""

    def share_lease(self) -> int | None:
        """A descriptor, for the caller to close, of the file that says until when the step may run.

        Such a process inherits it and reads it (`agent.tools.supervisor`): its worker may be frozen,
        or cut off from the log, and cannot cancel it then. None where no lease limits the step.
        """
