"""Who looks after an installation's skills as a whole: the curator, and what it is told of their use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hermes_jobs.agent.skills.curator import Curator, Use
from hermes_jobs.domain.skill.skill import stream_of
from hermes_jobs.engine.clock_and_ids import day_of
from hermes_jobs.views.skills import SkillUse

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.application import Installation


def curator_of(installation: Installation) -> Curator:
    """The curator of the home's skills."""

    def uses(names: Collection[str]) -> Mapping[str, Use]:
        known = installation.views.skill_uses()
        return {name: _use(known.get(name, SkillUse()), _written_at(installation, name)) for name in names}

    def today() -> str:
        return day_of(installation.clock.now(), installation.settings.zone)

    return Curator(installation.skills, uses, today)


def _use(known: SkillUse, written_at: str) -> Use:
    return Use(
        uses=known.uses,
        completed=known.completed,
        failed=known.failed,
        last_used_at=known.last_used_at or "",
        written_at=written_at,
    )


def _written_at(installation: Installation, name: str) -> str:
    written = list(installation.log.read(stream_of(name)))
    return written[-1].recorded_at if written else ""
