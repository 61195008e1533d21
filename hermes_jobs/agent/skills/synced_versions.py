"""What was last written into this home, so that what a person deleted is not taken for not yet written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from hermes_jobs.agent.skills.disk import Place
from hermes_jobs.system.atomic_file import write_bytes

FILE = ".laid-out.json"


class _Skill(msgspec.Struct, frozen=True):
    version: int
    category: str = ""


class _Stored(msgspec.Struct, frozen=True):
    log: str
    skills: dict[str, _Skill]


class SyncedVersions:
    """The versions of skills whose files lie in a folder, kept in that folder."""

    def __init__(self, root: Path, log_id: str) -> None:
        self._path = root / FILE
        self._log = log_id
        self._skills: dict[str, _Skill] = {}
        self._stored: dict[str, _Skill] = {}

    def load(self) -> None:
        """Read what was stored; of another log, or broken: nothing."""
        try:
            stored = msgspec.json.decode(self._path.read_bytes(), type=_Stored)
        except (FileNotFoundError, msgspec.DecodeError):
            stored = _Stored(log="", skills={})
        self._stored = stored.skills if stored.log == self._log else {}
        self._skills = dict(self._stored)

    def store(self) -> None:
        """Write what has changed. A crash of the machine may lose it: then nothing counts as deleted."""
        if self._skills == self._stored:
            return
        stored = _Stored(log=self._log, skills=self._skills)
        write_bytes(self._path, msgspec.json.encode(stored), durable=False)
        self._stored = dict(self._skills)

    def version(self, name: str) -> int | None:
        """The version that lies there; null: none."""
        found = self._skills.get(name)
        return found.version if found else None

    def places(self) -> Iterator[Place]:
        """Where the skills lie."""
        for name, skill in self._skills.items():
            yield Place(skill.category, name)

    def enter(self, place: Place, version: int) -> None:
        """This version lies there now."""
        self._skills[place.name] = _Skill(version, place.category)

    def drop(self, name: str) -> None:
        """Nothing of the skill lies there."""
        self._skills.pop(name, None)
