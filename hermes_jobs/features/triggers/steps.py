"""`trigger.start`: starts the turn of a trigger's firings, when it has not been fired for a while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.triggers.rules.commands import StartTrigger
from hermes_jobs.features.triggers.rules.trigger import Trigger
from hermes_jobs.kernel.engine.ports import Cancel, StepHandler
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.system.clock import Clock

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class Start(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`."""

    clock: Clock

    def run(self, state: Trigger, step: Step, cancel: Cancel) -> Decision:
        """The decision; it is the whole effect of the step."""
        return StartTrigger(stream=step.stream, now=self.clock.now())


def handlers(application: Application) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    return {"trigger.start": Start(application.clock)}
