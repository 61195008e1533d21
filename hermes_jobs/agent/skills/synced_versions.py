"""The versions of skills last written into a home, by which a deleted file is told from a new one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from hermes_jobs.agent.files.log_entries import LogEntries
from hermes_jobs.agent.skills.disk import Place

FILE = ".laid-out.json"


class _Skill(msgspec.Struct, frozen=True):
    version: int
    category: str = ""


class SyncedVersions(LogEntries[_Skill]):
    """The versions of skills whose files lie in a folder, stored in that folder."""

    def __init__(self, root: Path, log_id: str) -> None:
        super().__init__(root / FILE, log_id, field="skills", entry=_Skill)

    def version(self, name: str) -> int | None:
        """The version that lies there; None: none."""
        found = self.entries.get(name)
        return found.version if found else None

    def places(self) -> Iterator[Place]:
        """Where the skills lie."""
        for name, skill in self.entries.items():
            yield Place(skill.category, name)

    def add(self, place: Place, version: int) -> None:
        """This version lies there now."""
        self.entries[place.name] = _Skill(version, place.category)

    def remove(self, name: str) -> None:
        """Nothing of the skill lies there."""
        self.entries.pop(name, None)
