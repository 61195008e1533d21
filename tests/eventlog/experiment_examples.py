"""An example of each event of experiments, every field set."""

from __future__ import annotations

from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.kernel import events as e

EXAMPLES: tuple[e.Event, ...] = (
    replay_events.ExperimentDefined(
        experiment="brief",
        query="rated:down «Müde»",
        seed=7,
        checks=(replay_events.Check(kind="pattern", name="number", rule="[0-9]"),),
        judge=replay_events.Judge(model="m", rubric="Kürzer ist besser."),
    ),
    replay_events.CellChecked(
        step="brief-v1t1s1c1", results=(replay_events.CheckResult(False, "no number"),)
    ),
    replay_events.VerificationRequested(
        experiment="verify-v1", review="v1", session="s1", at=12, mode="full"
    ),
    replay_events.LearningVerified(
        review="v1",
        findings=(
            replay_events.Finding(
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
    replay_events.LearningDecided(review="v1", kind="memory", name="7", keep=True, by="user"),
    replay_events.CellsJudged(variant=1, turn_number=2, sample=1, verdict="better", by="user"),
)
