"""Skills, for interfaces: as lists and whole, their writes, and what may be done with them. Every function
raises `LogUnavailable`, and `Rejected`, `unknown_skill`, where there is none of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.features.skills.cli.format import (
    SkillDetails,
    SkillRow,
    WriteRow,
    skill_details,
    skill_rows,
    skill_writes,
)
from hermes_jobs.features.skills.cli.why import SkillWhy, skill_why

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

__all__ = [
    "SkillDetails",
    "SkillRow",
    "SkillWhy",
    "WriteRow",
    "decide",
    "skill_details",
    "skill_rows",
    "skill_why",
    "skill_writes",
    "undo",
]


def undo(application: Application, name: str, to: int | None = None, *, by: str = "") -> str:
    """Undo a skill's last write, or restore its version `to`; what was done, in words. `by` is who asks for
    it. Raises `Rejected` where there is nothing to undo, and for a version that there is not."""
    from hermes_jobs.features.replay.api import undone_elsewhere

    library = application.skills
    skill = library.past(name)
    also = undone_elsewhere(application, skill.provisional, "skill", skill.name, by or "user")
    return library.undo(name, to, also=also, by=by).answer.strip()


def decide(application: Application, name: str, number: int, *, approves: bool, by: str) -> None:
    """Approve or deny the proposal of that version. Raises `Rejected`."""
    if approves:
        application.skills.approve(name, number, by=by)
    else:
        application.skills.deny(name, number, by=by)
