"""Handlers and limits of the steps of a turn, which may differ between turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.budget_guard import BudgetGuard
from hermes_jobs.kernel.engine.ports import Preflight, StepHandler
from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.kernel.turns.turn import Turn

Admission = Literal["here", "other_worker", "no_worker"]
"""Which process meets the requirements of a step: this one, another live one, or none."""


class StepParts(msgspec.Struct, frozen=True, kw_only=True):
    """Handlers, by operation or else by kind; the budget guard of model calls; and the check before a model
    call. Without a budget guard nothing is reserved.

    As `PartsOfTurns` they are the same for all turns, and this process may run every step.
    """

    handlers: Mapping[StepKind, StepHandler] = {}
    budget_guard: BudgetGuard | None = None
    preflight: Preflight | None = None

    def of(self, turn: Turn | None) -> StepParts:
        """See `PartsOfTurns.of`."""
        return self

    def admission(self, turn: Turn, step: Step) -> Admission:
        """See `PartsOfTurns.admission`."""
        return "here"

    def is_elsewhere(self, secret: str | None) -> bool:
        """See `PartsOfTurns.is_elsewhere`."""
        return False


class PartsOfTurns(Protocol):
    """Chooses the parts by the turn's own settings. Safe for many threads."""

    def of(self, turn: Turn | None) -> StepParts:
        """The parts for the steps of that turn; None: for those of no turn."""

    def admission(self, turn: Turn, step: Step) -> Admission:
        """Which process meets the requirements of that step. Raises `LogUnavailable`."""

    def is_elsewhere(self, secret: str | None) -> bool:
        """Whether this process lacks the secret that a step needs, if any, and another live one has it.

        Raises `LogUnavailable`.
        """


def unmet(turn: Turn) -> Rejected:
    """The error of a turn whose requirements no live process meets."""
    names = ", ".join(turn.requires)
    return Rejected(
        f"This turn was sent with settings that only its own process had ({names}), and that process has "
        "ended. No other one works on it: it would use another key or address.",
        kind="auth",
        hint=f"Go on where they are set: hermes-jobs turns retry {turn.id}",
    )
