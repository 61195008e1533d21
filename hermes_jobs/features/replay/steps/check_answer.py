"""`experiment.check`: the experiment's checks are applied to the answer of a cell."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import Experiment
from hermes_jobs.kernel.engine.bounded_schema import PATTERN_SECONDS, answer_faults
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.streams.decision import Decision, append
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.system.bounded_process import is_found

MESSAGE_CHARACTERS = 500
"""Characters of a check's message."""
RunCheck = Callable[[str, str, Cancel], e.CheckResult]
"""Runs a command in a sandbox, in a folder of its own that holds the answer."""


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
        results = tuple(self._result(check, outcome.content, cancel) for check in definition.checks)
        event = e.CellChecked(step=call, results=results)
        return append(state.stream, event)

    def _result(self, check: e.Check, answer: str, cancel: Cancel) -> e.CheckResult:
        match check.kind:
            case "pattern":
                passed = is_found(check.rule, answer, PATTERN_SECONDS)
                late = f"there is no match within {PATTERN_SECONDS:.0f} seconds"
                return e.CheckResult(passed is True, late if passed is None else "")
            case "schema":
                faults = answer_faults(check.rule, answer)
                return e.CheckResult(not faults, "; ".join(faults)[:MESSAGE_CHARACTERS])
            case "command":
                return self._run(check.rule, answer, cancel)
