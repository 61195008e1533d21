"""The port that sends due steps to workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_jobs.domain.session.steps import Step


class Dispatcher(Protocol):
    """Sends due steps to workers. It may drop, delay, duplicate and reorder them."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Send these steps. Never raises."""
