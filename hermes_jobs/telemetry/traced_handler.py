"""A performer whose own calls elsewhere are told under the span of its step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports import Cancel, Performer

Within = Callable[[Session, Step], AbstractContextManager[None]]


class TracedHandler:
    """A `Performer`; `within` is that of `Tracing`."""

    def __init__(self, performer: Performer, within: Within) -> None:
        self._performer = performer
        self._within = within

    def perform(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        """See `Performer`."""
        with self._within(session, step):
            return self._performer.perform(session, step, cancel)
