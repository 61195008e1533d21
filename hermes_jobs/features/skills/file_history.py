"""Past and current contents of the files of skills in one home, by skill and path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_jobs.features.skills.content import content_of
from hermes_jobs.features.skills.disk import OnDisk, SkillPlace
from hermes_jobs.features.skills.events import SkillFile
from hermes_jobs.features.skills.rules.import_edits import Holding
from hermes_jobs.features.skills.rules.skill import Skill
from hermes_jobs.folders.hand_edits import Content
from hermes_jobs.folders.history import FileHistory, LogEntries, StoredText, digest_of
from hermes_jobs.folders.marks import Mark


class SkillFileHistory(FileHistory):
    """`FileHistory` of the skills below `root`. `history` is the folder that it is stored in."""

    def __init__(self, history: Path, log_id: str, root: Path) -> None:
        super().__init__(history / "skills.json", log_id)
        self._root = root

    def before(self, on_disk: OnDisk, past: Sequence[Skill]) -> Mapping[str, Holding]:
        """The contents of a folder's files before their last saved state."""
        return {
            path: Holding(
                contents=contents,
                followed=self.of(_key(on_disk.place, path))[-1].version,
                saved_at=on_disk.saved_at[path],
            )
            for path in on_disk.files
            if (contents := self._contents_of(on_disk.place, path, past))
        }

    def add_read_files(self, on_disk: OnDisk, skill: Skill) -> None:
        """Add the contents read from a folder; differences to the last ones are a user's edits."""
        for path, file in on_disk.files.items():
            text = None if file.base64 else file.content
            content = StoredText(_digest(file), Mark(on_disk.saved_at[path]), skill.version, text)
            logged = skill.files.get(path) == file
            self.add_read(_key(on_disk.place, path), self._file(on_disk.place, path), content, logged=logged)

    def add_written_file(
        self, place: SkillPlace, path: str, file: SkillFile, mark: Mark, version: int
    ) -> None:
        """Add the file as written from the log at that version."""
        content = StoredText(_digest(file), mark, version)
        self.add_written(_key(place, path), self._file(place, path), content)

    def removed(self, place: SkillPlace, path: str) -> None:
        """Add the removal of the file."""
        self.remove(_key(place, path), self._file(place, path))

    def _contents_of(
        self, place: SkillPlace, path: str, past: Sequence[Skill]
    ) -> tuple[Content[SkillFile], ...]:
        def restore(stored: StoredText) -> SkillFile | None:
            if stored.version >= len(past):
                return None
            return past[stored.version].files.get(path) if stored.text is None else SkillFile(stored.text)

        return self.contents(_key(place, path), self._file(place, path), restore, _digest)

    def _file(self, place: SkillPlace, path: str) -> Path:
        return self._root / str(place) / path


def _digest(file: SkillFile) -> str:
    return digest_of(content_of(file))


def _key(place: SkillPlace, path: str) -> str:
    return f"{place.name}/{path}"


FILE = ".laid-out.json"


class _Skill(msgspec.Struct, frozen=True):
    version: int
    category: str = ""


class SyncedVersions(LogEntries[_Skill]):
    """The versions of skills whose files lie in a folder, stored in that folder."""

    def __init__(self, root: Path, log_id: str) -> None:
        super().__init__(root / FILE, log_id, field="skills", entry=_Skill)

    def version(self, name: str) -> int | None:
        """The version on disk; None: none."""
        entry = self.entries.get(name)
        return entry.version if entry else None

    def places(self) -> Iterator[SkillPlace]:
        """The places of the skills."""
        for name, skill in self.entries.items():
            yield SkillPlace(skill.category, name)

    def add(self, place: SkillPlace, version: int) -> None:
        """Set the version on disk."""
        self.entries[place.name] = _Skill(version, place.category)

    def remove(self, name: str) -> None:
        """The skill has no files on disk."""
        self.entries.pop(name, None)
