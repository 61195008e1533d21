"""One event of each type that a skill's stream can hold, every field of it set."""

from __future__ import annotations

from hermes_jobs.domain import events as e

EVIDENCE = e.Evidence(session="s1", turn="t1", call="t1-1-0")
EXAMPLES: tuple[e.Event, ...] = (
    e.SkillCreated(
        name="code-review",
        content="---\nname: code-review\ndescription: How to review «code».\n---\n# Review\n",
        author="review",
        category="development",
        files={
            "assets/logo.png": e.SkillFile("iVBORw0KGgo=", base64=True),
            "references/checklist.md": e.SkillFile("- Tests?\n"),
        },
        evidence=EVIDENCE,
        undoes=3,
        provisional=True,
    ),
    e.SkillEdited(
        name="code-review",
        content="---\nname: code-review\ndescription: New.\n---\n# Review\n",
        author="turn",
        category="work",
        evidence=EVIDENCE,
        undoes=4,
        conflict=True,
        provisional=True,
    ),
    e.SkillPatched(
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
    e.SkillDeleted(name="code-review", author="user", evidence=EVIDENCE, undoes=6),
    e.SkillFileWritten(
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
    e.SkillFileRemoved(
        name="code-review", path="assets/logo.png", author="curator", evidence=EVIDENCE, undoes=8
    ),
    e.SkillInstalled(
        name="code-review",
        files={"SKILL.md": e.SkillFile("whole"), "assets/logo.png": e.SkillFile("iVBORw0KGgo=", base64=True)},
        author="user",
        category="work",
        origin=e.SkillOrigin(
            source="https://example.com/skills.git", path="code-review", revision="0af3", digest="5e8f"
        ),
        rules=("runs what it is given",),
        undoes=3,
    ),
    e.SkillProposed(
        name="code-review",
        request=e.SkillRequest(
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
    e.SkillApproved(name="code-review", proposal=9, by="user", rules=("secret",)),
    e.SkillDenied(name="code-review", proposal=9, by="user"),
)
