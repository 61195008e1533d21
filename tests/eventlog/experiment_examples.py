"""An example of each event of experiments, every field set."""

from __future__ import annotations

from hermes_jobs.domain import events as e

EXAMPLES: tuple[e.Event, ...] = (
    e.ExperimentDefined(
        experiment="brief",
        query="rated:down «Müde»",
        seed=7,
        checks=(e.Check(kind="pattern", name="number", rule="[0-9]"),),
        judge=e.Judge(model="m", rubric="Kürzer ist besser."),
    ),
    e.CellChecked(step="brief-v1t1s1c1", kept=(e.CheckResult(False, "no number"),)),
    e.VerificationRequested(experiment="verify-v1", review="v1", session="s1", at=12, mode="full"),
    e.LearningVerified(
        review="v1",
        findings=(
            e.Finding(
                kind="memory",
                name="7",
                standing="harmful",
                why="the judge prefers the answer without «Tee»",
                pairs=6,
                better=1,
                worse=3,
                unknown=2,
                tokens_with=12.5,
                tokens_without=10.0,
            ),
        ),
    ),
    e.LearningDecided(review="v1", kind="memory", name="7", keep=True, by="user"),
    e.CellsJudged(variant=1, turn_number=2, sample=1, verdict="better", by="user"),
)
