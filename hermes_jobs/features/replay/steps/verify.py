"""`verification.plan` and `verification.conclude`: plan and conclude the experiment that verifies what a
review saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

import msgspec

from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.replay.rules import verification
from hermes_jobs.features.replay.rules.experiment import Experiment
from hermes_jobs.features.replay.verified_turns import VerifiedTurns
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.steps import Step

SAMPLES: dict[e.VerifyMode, int] = {"off": 0, "cheap": 1, "full": 3}
RUBRIC = """\
The answer that serves the person better: it does what was asked, as they want it done, is correct, and says
no more than is needed. What differs in wording alone is the same."""
AS_RECORDED = "without"
NO_TURNS = "no turn that the review has read can be asked again"

Saved = Callable[[replay_events.VerificationRequested], Sequence[replay_events.Inclusion]]
"""The provisional items that the review saved and that no other verification covers."""


class PlanVerification(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`. `judge` is the model that compares answers, `budget_usd` the limit of one."""

    saved: Saved
    turns: VerifiedTurns
    judge: str
    budget_usd: float | None

    def run(self, state: Experiment, step: Step, cancel: Cancel) -> Decision:
        """Choose the turns, and plan a variant for each saved item."""
        request = state.request
        assert request is not None, f"{state.stream} verifies nothing"
        items = self.saved(request)
        turns = self.turns.of(request, [item.text for item in items]) if items else ()
        if not turns:
            return verification.give_up(state.stream, items, NO_TURNS)
        defined = replay_events.ExperimentDefined(
            experiment=request.experiment,
            query=f"review {request.review}",
            seed=int.from_bytes(sha256(request.experiment.encode()).digest()[:4]),
            judge=replay_events.Judge(model=self.judge, rubric=RUBRIC) if request.mode == "full" else None,
        )
        variants = (
            replay_events.Variant(name=AS_RECORDED),
            *(replay_events.Variant(name=f"{item.kind}:{item.name}", including=(item,)) for item in items),
        )
        planned = replay_events.ReplayPlanned(
            replay=request.experiment,
            turns=turns,
            variants=variants,
            samples=SAMPLES[request.mode],
            budget_usd=self.budget_usd,
        )
        return verification.plan(state.stream, defined, planned)


class ConcludeVerification:
    """A `StepHandler`."""

    def run(self, state: Experiment, step: Step, cancel: Cancel) -> Decision:
        """Compare the answers."""
        return verification.conclude(state.stream)
