"""The attempts at one step of a session: claimed by a worker, released, abandoned."""

from __future__ import annotations

from typing import Self

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.streams.usage import Reservation


class StepState(msgspec.Struct, frozen=True, kw_only=True):
    """The common base of a turn, a tool call, a reference, and a compression.

    `attempt` counts from 1; `worker_crashes` counts workers in a row that died while they ran the step;
    `retry_at` is in seconds since the epoch; `reserved` is the reservation of the running call of a model.
    """

    attempt: int = 1
    worker_crashes: int = 0
    retry_at: float = 0.0
    running: bool = False
    reserved: Reservation | None = None

    def claimed(self, reserved: Reservation | None) -> Self:
        """Running, with that reservation."""
        return replace(self, running=True, reserved=reserved)

    def released(self) -> Self:
        """Not running, without a reservation."""
        return replace(self, running=False, reserved=None)

    def abandoned(self, *, died: bool) -> Self:
        """Released without an outcome. If the worker `died`, the next attempt has another number."""
        return replace(
            self.released(), attempt=self.attempt + died, worker_crashes=self.worker_crashes + died
        )
