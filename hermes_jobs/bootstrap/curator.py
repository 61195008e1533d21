"""Who looks after an installation's skills as a whole: the curator, and what it is told of their use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hermes_jobs.agent.skills.curator import Curator, SkillUsage
from hermes_jobs.domain.skill.skill import stream_of
from hermes_jobs.engine.clock_and_ids import day_of
from hermes_jobs.views.skills import SkillUse

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.application import Application


def create_curator(application: Application) -> Curator:
    """The curator of the home's skills."""

    def uses(names: Collection[str]) -> Mapping[str, SkillUsage]:
        known = application.views.skill_uses()
        return {name: _use(known.get(name, SkillUse()), _written_at(application, name)) for name in names}

    def today() -> str:
        return day_of(application.clock.now(), application.settings.zone)

    return Curator(application.skills, uses, today)


def _use(known: SkillUse, written_at: str) -> SkillUsage:
    return SkillUsage(
        uses=known.uses,
        completed=known.completed,
        failed=known.failed,
        last_used_at=known.last_used_at or "",
        written_at=written_at,
    )


def _written_at(application: Application, name: str) -> str:
    written = list(application.log.read(stream_of(name)))
    return written[-1].recorded_at if written else ""
