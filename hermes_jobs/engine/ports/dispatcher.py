"""Who carries wake-ups to workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_jobs.domain.session.steps import Step


class Dispatcher(Protocol):
    """Carries wake-ups. It may drop, delay, double and reorder them."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Say that somebody should look at these steps. Never raises."""
