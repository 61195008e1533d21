"""One event of each type that a skill's stream can hold, every field of it set."""

from __future__ import annotations

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.kernel import events as e

EVIDENCE = memory_events.Evidence(session="s1", turn="t1", call="t1-1-0")
EXAMPLES: tuple[e.Event, ...] = (
    skills_events.SkillCreated(
        name="code-review",
        content="---\nname: code-review\ndescription: How to review «code».\n---\n# Review\n",
        author="review",
        category="development",
        files={
            "assets/logo.png": skills_events.SkillFile("iVBORw0KGgo=", base64=True),
            "references/checklist.md": skills_events.SkillFile("- Tests?\n"),
        },
        evidence=EVIDENCE,
        undoes=3,
        provisional=True,
    ),
    skills_events.SkillEdited(
        name="code-review",
        content="---\nname: code-review\ndescription: New.\n---\n# Review\n",
        author="turn",
        category="work",
        evidence=EVIDENCE,
        undoes=4,
        conflict=True,
        provisional=True,
    ),
    skills_events.SkillPatched(
        name="code-review",
        path="references/checklist.md",
        old_string="Tests?",
        new_string="Tests, and 😀?",
        content="- Tests, and 😀?\n",
        author="turn",
        evidence=EVIDENCE,
        undoes=5,
        provisional=True,
    ),
    skills_events.SkillDeleted(name="code-review", author="user", evidence=EVIDENCE, undoes=6),
    skills_events.SkillFileWritten(
        name="code-review",
        path="assets/logo.png",
        content="iVBORw0KGgo=",
        author="hand_edit",
        base64=True,
        evidence=EVIDENCE,
        undoes=7,
        conflict=True,
        provisional=True,
    ),
    skills_events.SkillFileRemoved(
        name="code-review", path="assets/logo.png", author="curator", evidence=EVIDENCE, undoes=8
    ),
    skills_events.SkillInstalled(
        name="code-review",
        files={
            "SKILL.md": skills_events.SkillFile("whole"),
            "assets/logo.png": skills_events.SkillFile("iVBORw0KGgo=", base64=True),
        },
        author="user",
        category="work",
        origin=skills_events.SkillOrigin(
            source="https://example.com/skills.git", path="code-review", revision="0af3", digest="5e8f"
        ),
        rules=("runs what it is given",),
        undoes=3,
    ),
    skills_events.SkillProposed(
        name="code-review",
        request=skills_events.SkillRequest(
            action="patch",
            content="whole",
            category="work",
            path="scripts/run.sh",
            old_string="echo",
            new_string='eval "$1"',
            replace_all=True,
        ),
        rules=('runs what it is given: eval "$1',),
        author="turn",
        evidence=EVIDENCE,
    ),
    skills_events.SkillApproved(name="code-review", proposal=9, by="user", rules=("secret",)),
    skills_events.SkillDenied(name="code-review", proposal=9, by="user"),
)
