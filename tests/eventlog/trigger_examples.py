"""One example of each event of a trigger, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.features.triggers import events as t
from hermes_jobs.kernel import events as e

EXAMPLES: tuple[e.Event, ...] = (
    t.TriggerAdded(
        trigger="ci",
        plan=t.TriggerPlan(
            text="Find out «why».",
            session="s1",
            deliver=("file:~/ci.md", "cli"),
            model="m",
            toolsets=("files",),
            budget_usd=0.25,
            workdir="/srv",
            debounce=30.0,
            hook=t.Hook(salt="5a17", events=("push",), fields=("action=opened",)),
        ),
        by="user",
    ),
    t.TriggerPaused(trigger="ci", by="user"),
    t.TriggerResumed(trigger="ci", by="user"),
    t.TriggerRemoved(trigger="ci", by="user"),
    t.TriggerFired(
        trigger="ci",
        turn="t1",
        session="s1",
        payload="1 failed",
        at=1_800_000_000.5,
        due=1_800_000_030.5,
        key="build-17",
    ),
    t.TriggerStarted(trigger="ci", turn="t1", session="s1", firings=2),
    t.TriggerFailed(trigger="ci", turn="t1", message="The session has ended."),
)
