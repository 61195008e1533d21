"""The handler of one kind of step, and the check before a model call."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports.cancel import Cancel

StepOutcome: TypeAlias = c.StepOutcome | Decision
"""A command for a step with an `operation`; a decision about any streams for the others."""


class StepInterrupted(Exception):
    """A handler was stopped before it had an outcome; another worker runs its step."""


class StepHandler(Protocol):
    """Runs one kind of step. Appends nothing itself."""

    def run(self, state: Any, step: Step, cancel: Cancel) -> StepOutcome:
        """Run the step and return its outcome, which the engine appends.

        `state` is that of the step's stream after the claim, such as a `Session`. Raises `StepInterrupted`
        when `cancel` fires for the process's sake; after any other error the step fails, or is tried again.
        """


class Preflight(Protocol):
    """Looks at a session whose model is about to be called."""

    def __call__(self, session: Session) -> c.SessionCommand | None:
        """A command that has to come first, such as a compression; the call is due again after it."""
