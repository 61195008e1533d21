"""The curator of the skills, with usage figures from the read models and dates from the log."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hermes_jobs.agent.skills.curator import Curator, SkillUsage
from hermes_jobs.domain.skill.skill import stream_of
from hermes_jobs.engine.clock_and_ids import day_of
from hermes_jobs.views.skills import SkillUse

if TYPE_CHECKING:
    from datetime import tzinfo

    from hermes_jobs.agent.skills.catalog import SkillCatalog
    from hermes_jobs.engine.ports import Clock
    from hermes_jobs.eventlog.log import EventLog
    from hermes_jobs.views import Views


def create_curator(
    skills: SkillCatalog, log: EventLog, views: Views, clock: Clock, zone: tzinfo | None
) -> Curator:
    """The curator of these skills; its days are those of `zone` (None: the machine's)."""

    def uses(names: Collection[str]) -> Mapping[str, SkillUsage]:
        known = views.skill_uses()
        return {name: _use(known.get(name, SkillUse()), _written_at(log, name)) for name in names}

    def today() -> str:
        return day_of(clock.now(), zone)

    return Curator(skills, uses, today)


def _use(known: SkillUse, written_at: str) -> SkillUsage:
    return SkillUsage(
        uses=known.uses,
        completed=known.completed,
        failed=known.failed,
        last_used_at=known.last_used_at or "",
        written_at=written_at,
    )


def _written_at(log: EventLog, name: str) -> str:
    written = list(log.read(stream_of(name)))
    return written[-1].recorded_at if written else ""
