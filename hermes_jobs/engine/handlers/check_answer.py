"""`experiment.check`: the answer of a cell is held against the experiment's checks."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.domain import events as e
from hermes_jobs.domain.decision import Decision, append
from hermes_jobs.domain.replay.experiment import Experiment
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.bounded_schema import PATTERN_SECONDS, answer_faults
from hermes_jobs.engine.ports import Cancel
from hermes_jobs.system.bounded_process import is_found

TOLD = 500
"""Characters of what a check says."""
RunCheck = Callable[[str, str, Cancel], e.CheckResult]
"""Runs a command in a folder of its own that holds the answer, where it can do no harm."""


class CheckAnswer:
    """A `StepHandler`."""

    def __init__(self, run: RunCheck) -> None:
        self._run = run

    def run(self, state: Experiment, step: Step, cancel: Cancel) -> Decision:
        """Check the answer. Raises `StepInterrupted`."""
        call = step.id.removesuffix("-check")
        outcome, definition = state.outcomes[call], state.definition
        assert definition is not None, f"{state.stream} is not defined"
        assert isinstance(outcome, e.ReplayCallEnded), f"{call} has no answer"
        kept = tuple(self._result(check, outcome.content, cancel) for check in definition.checks)
        event = e.CellChecked(step=call, kept=kept)
        return append(state.stream, event)

    def _result(self, check: e.Check, answer: str, cancel: Cancel) -> e.CheckResult:
        match check.kind:
            case "pattern":
                is_kept = is_found(check.rule, answer, PATTERN_SECONDS)
                late = f"there is no match within {PATTERN_SECONDS:.0f} seconds"
                return e.CheckResult(is_kept is True, late if is_kept is None else "")
            case "schema":
                found = answer_faults(check.rule, answer)
                return e.CheckResult(not found, "; ".join(found)[:TOLD])
            case "command":
                return self._run(check.rule, answer, cancel)
