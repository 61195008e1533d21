"""Who does the steps that are due, and what goes before."""

from __future__ import annotations

from typing import Any, Protocol

from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports.cancel import Cancel


class StepInterrupted(Exception):
    """A performer was told to stop before it had an outcome; its step goes to somebody else."""


class Performer(Protocol):
    """Does one kind of step. Called with the session as it was when the step was claimed."""

    def perform(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        """Act, and say what came of it. Raises `StepInterrupted` when told to stop for the process's sake."""


class Job(Protocol):
    """Does one kind of step that is no turn's: a schedule's, a delivery's, the beginning of a review."""

    def perform(self, state: Any, step: Step, cancel: Cancel) -> Decision:
        """Act, and return what is to be written. Raises `StepInterrupted` when the process has to stop."""


class Preflight(Protocol):
    """Looks at a session whose model is about to be called."""

    def __call__(self, session: Session) -> c.SessionCommand | None:
        """What has to be done instead, and makes the call due again afterwards; mostly nothing."""
