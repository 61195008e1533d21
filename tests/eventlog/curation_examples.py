"""Examples of what a curator's review leaves in the stream of its proposals."""

from __future__ import annotations

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.kernel import events as e

EVIDENCE = memory_events.Evidence(session="v1", turn="t1", call="t1-1-0")
EXAMPLES: tuple[e.Event, ...] = (
    skills_events.MergeProposed(
        review="v1",
        number=1,
        into="deploy",
        skills=("deploy-web", "deploy-app"),
        content="---\nname: deploy\ndescription: «Deploy»\n---\n\nDo it.\n",
        reason="They differ in one line.",
        versions={"deploy": 0, "deploy-web": 2, "deploy-app": 1},
        evidence=EVIDENCE,
        category="ops",
    ),
    skills_events.ArchiveProposed(
        review="v1", number=2, skill="old", reason="Never used.", version=3, evidence=EVIDENCE
    ),
    skills_events.ProposalApplied(review="v1", number=1, by="user"),
)
