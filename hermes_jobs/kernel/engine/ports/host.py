"""Ports of the process to a step: cancellation, clocks, random ids, dispatch of steps to workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from hermes_jobs.kernel.turns.steps import Step

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

        A child process inherits and reads it (`agent.tools.supervisor`), because a worker that is frozen or
        cut off from the log cannot cancel it. None if no lease limits the step.
        """


class Dispatcher(Protocol):
    """Sends due steps to workers. It may drop, delay, duplicate and reorder them."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Send these steps. Never raises."""
