"""The skills, their requirements on this machine, and their curator."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING

from hermes_jobs.features.skills import BUNDLED
from hermes_jobs.features.skills.catalog import SkillCatalog
from hermes_jobs.features.skills.curator import Curator, SkillUsage
from hermes_jobs.features.skills.front_matter import Available
from hermes_jobs.features.skills.rules.skill import stream_of
from hermes_jobs.features.skills.skill_folder import SkillFolder
from hermes_jobs.features.skills.tables import SkillUse, select_skill_uses
from hermes_jobs.text.moments import day_of

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import Settings
    from hermes_jobs.system.clock import Clock


def machine_of(settings: Settings, environ: Mapping[str, str]) -> Available:
    """The variables that commands get, and the programs on their PATH; read on first use."""

    @cache
    def variables() -> Mapping[str, str]:
        from hermes_jobs.tools.environment import filtered_environment, overlay

        inherited = overlay(environ, settings.terminal.environment)
        return filtered_environment(inherited, settings.secrets.values) | settings.granted_secrets

    return Available(
        has_variable=lambda name: name in variables(),
        has_command=lambda name: shutil.which(name, path=variables().get("PATH")) is not None,
    )


def create_skills(settings: Settings, environ: Mapping[str, str], engine: Engine) -> SkillCatalog:
    """The skills of the home, with their files, and those of the configured folders."""
    paths, chosen = settings.paths, settings.skills
    return SkillCatalog(
        SkillFolder(engine, paths.skills, paths.run / "skills.lock", paths.run / "shown"),
        [_folder(path, settings, environ) for path in chosen.external_dirs],
        bundled=BUNDLED if chosen.bundled else None,
        guard=chosen.guard,
        machine=machine_of(settings, environ),
    )


def _folder(written: str, settings: Settings, environ: Mapping[str, str]) -> Path:
    """A path of the configuration: `~` is the user's home; relative paths begin in ours."""
    if written == "~" or written.startswith("~/"):
        written = environ.get("HOME", "/") + written[1:]
    return settings.paths.home / written


def create_curator(
    skills: SkillCatalog, log: EventLog, views: Views, clock: Clock, zone: tzinfo | None
) -> Curator:
    """The curator of these skills; its days are those of `zone` (None: the machine's)."""

    def uses(names: Collection[str]) -> Mapping[str, SkillUsage]:
        by_skill = views.read(select_skill_uses)
        return {name: _use(by_skill.get(name, SkillUse()), _written_at(log, name)) for name in names}

    def today() -> str:
        return day_of(clock.now(), zone)

    return Curator(skills, uses, today)


def _use(use: SkillUse, written_at: str) -> SkillUsage:
    return SkillUsage(
        uses=use.uses,
        completed=use.completed,
        failed=use.failed,
        last_used_at=use.last_used_at or "",
        written_at=written_at,
    )


def _written_at(log: EventLog, name: str) -> str:
    written = list(log.read(stream_of(name)))
    return written[-1].recorded_at if written else ""
