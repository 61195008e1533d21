"""One example of each event of a condition, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.features.conditions.events import Condition, ConditionAsked, ConditionEnded
from hermes_jobs.kernel import events as e

EXAMPLES: tuple[e.Event, ...] = (
    ConditionAsked(
        condition=Condition(
            command="hermes-jobs changed docs", folder="/srv", approved=False, asked="the network"
        ),
        turn=e.TurnSubmitted(turn="t1", text="Check «them».", source="cli", session="s1", deliver=("cli",)),
    ),
    ConditionEnded(turn="t1", ruling="failed", message="exit code 2", seen="d1"),
)
