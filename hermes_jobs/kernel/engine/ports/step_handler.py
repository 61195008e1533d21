"""The handler of one kind of step, and the check before a model call."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports.host import Cancel
from hermes_jobs.kernel.engine.ports.model import Pricing
from hermes_jobs.kernel.streams.accounts import Limit
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step

StepOutcome: TypeAlias = c.StepOutcome | Decision
"""A command for a step with an `operation`; a decision about any streams for the others."""


class StepInterrupted(Exception):
    """A handler was stopped before it had an outcome; another worker runs its step."""


class StepHandler(Protocol):
    """Runs one kind of step. Appends nothing itself."""

    def run(self, state: Any, step: Step, cancel: Cancel) -> StepOutcome:
        """Run the step and return its outcome, which the engine appends.

        `state` is that of the step's stream after the claim, such as a `Session`. Raises `StepInterrupted`
        when `cancel` fires because the process stops; after any other error the step fails, or is retried.
        """


@runtime_checkable
class BriefStepHandler(StepHandler, Protocol):
    """Runs steps some of which need no claim before they run."""

    def is_brief(self, session: Session) -> bool:
        """Whether running the step takes no time and changes nothing: the append of its outcome claims it."""


class SpendingApproval(msgspec.Struct, frozen=True, kw_only=True):
    """The reservation and limits of a claim. `fixed`: its answer cannot be made shorter."""

    reservation: Reservation
    limits: tuple[Limit, ...]
    pricing: Pricing
    fixed: bool = False


@runtime_checkable
class PaidStepHandler(StepHandler, Protocol):
    """Runs steps whose start is an event, too: they cost money, which is reserved first."""

    def approve(self, state: Any, step: Step) -> SpendingApproval | Decision:
        """The approval to spend, or a decision that replaces running the step. Raises `Rejected`."""

    def record_start(self, step: Step, reserved: Reservation | None) -> Decision:
        """The decision of the step's start."""

    def refused(self, step: Step, refused: Rejected) -> Decision:
        """The decision if a budget does not allow the step."""


class Preflight(Protocol):
    """Checks a session before its next model call."""

    def __call__(self, session: Session) -> c.SessionCommand | None:
        """A command that has to precede the call, such as a compression; the call is due again after it."""
