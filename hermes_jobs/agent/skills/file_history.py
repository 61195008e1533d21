"""What the files of skills in one home have held, so that an edit by hand is told from an older copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_jobs.agent.files.history import FileHistory, StoredText, digest_of
from hermes_jobs.agent.files.marks import Mark, Witnesses
from hermes_jobs.agent.skills.content import content_of
from hermes_jobs.agent.skills.disk import OnDisk, Place
from hermes_jobs.domain.events import SkillFile
from hermes_jobs.domain.hand_edits import Content
from hermes_jobs.domain.skill.import_edits import Holding
from hermes_jobs.domain.skill.skill import Skill

FILE = "skills.json"


class SkillFileHistory:
    """The contents that each file of a skill had, by the skill's name and the file's path."""

    def __init__(self, shown: Path, log_id: str) -> None:
        self._files = FileHistory(shown / FILE, log_id)
        self._witnesses = Witnesses(shown)

    def load(self) -> None:
        """Read what was stored. Raises `OSError`."""
        self._files.load()

    def store(self) -> None:
        """Write what has changed. Raises `OSError`."""
        self._files.store()

    def before(self, found: OnDisk, root: Path, past: Sequence[Skill]) -> Mapping[str, Holding]:
        """What the files of a folder held before they were saved as they are."""
        return {
            path: Holding(contents=contents, followed=held[-1].version, saved_at=found.saved_at[path])
            for path in found.files
            if (held := self._files.of(_key(found.place, path)))
            and (contents := self._contents(held, path, past, root / str(found.place) / path))
        }

    def note(self, found: OnDisk, root: Path, skill: Skill) -> None:
        """The files of a folder were read; what differs from what they held is what a person saved."""
        for path, file in found.files.items():
            key, digest = _key(found.place, path), _digest(file)
            held = self._files.of(key)
            if held and held[-1].digest == digest:
                continue
            own = skill.files.get(path) != file
            text = file.content if own and not file.base64 else None
            unread = bool(held) and self._witnesses.is_unread(root / str(found.place) / path, held[-1].mark)
            mark = Mark(found.saved_at[path])
            self._files.add(key, StoredText(digest, mark, skill.version, text), instead=unread)

    def written(self, root: Path, place: Place, path: str, file: SkillFile, mark: Mark, version: int) -> None:
        """The file was written as the log has it at that version."""
        key, real = _key(place, path), root / str(place) / path
        held = self._files.of(key)
        unread = bool(held) and self._witnesses.is_unread(real, held[-1].mark)
        self._files.add(key, StoredText(_digest(file), mark, version), instead=unread)
        self._witnesses.keep(real)

    def removed(self, root: Path, place: Place, path: str) -> None:
        """The file was removed."""
        self._files.drop(_key(place, path))
        self._witnesses.drop(root / str(place) / path)

    def _contents(
        self, held: Sequence[StoredText], path: str, past: Sequence[Skill], real: Path
    ) -> tuple[Content[SkillFile], ...]:
        """Nothing where the files followed a log that was put back to an older state since."""
        contents = []
        for each in held:
            own = each.text is not None
            file = SkillFile(each.text) if each.text is not None else _at(past, each.version, path)
            if file is None or each.version >= len(past) or _digest(file) != each.digest:
                return ()
            unread = each is held[-1] and self._witnesses.is_unread(real, each.mark)
            contents.append(Content(file, each.mark.at, unread=unread, by_hand=own))
        return tuple(contents)


def _at(past: Sequence[Skill], version: int, path: str) -> SkillFile | None:
    return past[version].files.get(path) if version < len(past) else None


def _digest(file: SkillFile) -> str:
    return digest_of(content_of(file))


def _key(place: Place, path: str) -> str:
    return f"{place.name}/{path}"
