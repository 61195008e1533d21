"""`condition.check`: a text's condition is checked, and the text submitted or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_jobs.features.conditions.command import ConditionCommand
from hermes_jobs.features.conditions.rules import Conclude, ConditionState
from hermes_jobs.kernel.engine.ports import Cancel, StepHandler
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.steps import Step, StepKind

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class CheckCondition:
    """A `StepHandler`. After a crash the command runs again: its outcome and the turn are one append."""

    def __init__(self, command: ConditionCommand) -> None:
        self._command = command

    def run(self, state: ConditionState, step: Step, cancel: Cancel) -> Decision:
        """Run the command. Raises `StepInterrupted`."""
        asked = state.open[0]
        checked = self._command.run(asked.condition, state.stream, state.seen, cancel)
        return Conclude(stream=state.stream, turn=asked.turn.turn, checked=checked)


def handlers(application: Application) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    return {"condition.check": CheckCondition(application.condition_command)}
