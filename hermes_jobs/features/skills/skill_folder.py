"""The home's skills: files derived from the log, and users' edits become events."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from functools import reduce
from pathlib import Path
from typing import cast

from hermes_jobs.errors import NewerSchema, Rejected
from hermes_jobs.features.skills import front_matter
from hermes_jobs.features.skills.disk import Disk, OnDisk, Problem, SkillPlace
from hermes_jobs.features.skills.events import SkillEvent
from hermes_jobs.features.skills.file_history import SkillFileHistory, SyncedVersions
from hermes_jobs.features.skills.rules.import_edits import FolderFiles, import_edits, is_stale
from hermes_jobs.features.skills.rules.skill import (
    MAIN_FILE,
    PREFIX,
    Files,
    Skill,
    evolve,
    history,
    stream_of,
)
from hermes_jobs.folders.sync import HAND_EDIT, SyncedFolder
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents

ROUNDS = 3  # attempts while another process writes to a file


class SkillFolder(SyncedFolder):
    """The skills of one log in the folder of one home.

    `history`: a folder on the home's file system, for past contents of the files and whether they were read.
    Methods raise `LogUnavailable`.
    """

    def __init__(self, engine: Engine, root: Path, lock: Path, history: Path) -> None:
        super().__init__(engine, lock, "the folder of the skills")
        self._disk = Disk(root)
        self._versions = SyncedVersions(root, engine.log.log_id)
        self._history = SkillFileHistory(history, engine.log.log_id, root)
        self._skills: dict[str, Skill] = {}
        self._unread: set[str] = set()
        self._blocked: dict[str, dict[str, str]] = {}
        self._known_forgotten = 0
        self._pending: dict[str, tuple[SkillEvent, ...]] | None = None
        self.problems: tuple[Problem, ...] = ()

    @property
    def log(self) -> EventLog:
        """The log of the skills."""
        return self._engine.log

    @property
    def root(self) -> Path:
        """The folder of the skills."""
        return self._disk.root

    def preview(self) -> SkillFolder:
        """The folder for commands that only read: its `sync` adds users' edits to the skills that it returns,
        and writes nothing. It is used once, and not for changes."""
        reading = copy(self)
        reading._skills, reading._pending = {}, {}  # noqa: SLF001 - it is one of these
        return reading

    def sync(self) -> dict[str, Skill]:
        """Import users' edits and write the files from the log; returns all existing skills by name.

        Files that cannot be read or written on this host are reported in the process's log and skipped.
        """
        with self._threads:
            try:
                if self._pending is not None:
                    self._preview_all(self._pending)
                else:
                    with self._locked():
                        for _ in range(ROUNDS):
                            if self._sync_all():
                                break
            except OSError as error:
                self._refresh()
                self._problem(".", f"it cannot be used ({error.strerror})")
            for problem in self.problems:
                self._log_once(logging.INFO, f"skills/{problem}")
            return {name: skill for name, skill in sorted(self._skills.items()) if skill.exists}

    def cached_skill(self, name: str) -> Skill:
        """The skill as of the last sync; version 0 if it never existed."""
        with self._threads:
            return self._skills.get(name) or Skill(stream=stream_of(name))

    def all_known(self) -> tuple[Skill, ...]:
        """Every skill, also deleted ones, as of the last sync."""
        with self._threads:
            return tuple(self._skills[name] for name in sorted(self._skills))

    def past(self, name: str) -> tuple[Skill, ...]:
        """The skill at each of its versions, from version 0 on."""
        stream = stream_of(name)
        # A skill's stream has no other events.
        events = [recorded.event for recorded in self._engine.log.read(stream)]
        return history(stream, [*events, *(self._pending or {}).get(name, ())])  # type: ignore[list-item]

    def why_blocked(self, name: str, path: str) -> str | None:
        """Why a file of a skill cannot be written on this host; None if it can."""
        with self._threads:
            blocked = self._blocked.get(name)
        if not blocked:
            return None
        parts = path.split("/")
        tried = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        return next((blocked[path] for path in tried if path in blocked), None)

    # --- sync -----------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Fold the new events of the log."""
        self._unread = set()
        for head in self._engine.log.streams(PREFIX):
            name = head.stream.removeprefix(PREFIX)
            cached = self._skills.get(name)
            if cached is None or cached.version < head.version:
                try:
                    self._load(name)
                except NewerSchema as error:
                    self._unread.add(name)
                    self._problem(name, str(error))

    def _load(self, name: str) -> Skill:
        self._skills[name] = cast(Skill, self._engine.state(stream_of(name)))
        return self._skills[name]

    def _preview_all(self, pending: dict[str, tuple[SkillEvent, ...]]) -> None:
        self.problems, self._blocked = (), {}
        pending.clear()
        self._skills.clear()
        self._refresh()
        if not self.root.exists():
            return
        self._versions.load()
        self._history.load()
        places, problems = self._disk.places(frozenset(self._versions.places()))
        self.problems = (*self.problems, *problems)
        if self._history.forgotten != self._forgotten():
            return  # the files are overwritten by the next sync
        there = {place.name: place for place in places}
        for name in sorted({*self._skills, *there} - self._unread):
            on_disk = self._disk.read(there[name]) if name in there else None
            skill = self._skills.get(name) or Skill(stream=stream_of(name))
            if on_disk is not None:
                self._note(on_disk)
            if _is_synced(skill, on_disk) or not (skill.exists or self._can_begin(on_disk)):
                continue
            pending[name] = self._edits(skill, on_disk, self.past(name))
            self._skills[name] = reduce(evolve, pending[name], skill)

    def _sync_all(self) -> bool:
        """One round; returns whether all files equal the log, and no file was written meanwhile."""
        self.problems, self._blocked = (), {}
        forgotten = self._forgotten()
        if forgotten != self._known_forgotten:
            self._known_forgotten = forgotten
            self._skills.clear()
        self._refresh()
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._versions.load()
        self._history.load()
        places, problems = self._disk.places(frozenset(self._versions.places()))
        self.problems = (*self.problems, *problems)
        there = {place.name: place for place in places}
        if self._history.forgotten != forgotten:
            self._write_over(there, forgotten)
        is_synced = True
        for name in sorted({*self._skills, *there} - self._unread):
            try:
                is_synced &= self._sync_skill(name, there.get(name))
            except OSError as error:
                self._problem(name, f"it cannot be used ({error.strerror})")
        self._versions.store()
        self._history.store()
        return is_synced

    def _sync_skill(self, name: str, place: SkillPlace | None) -> bool:
        skill = self._skills.get(name) or Skill(stream=stream_of(name))
        on_disk = self._disk.read(place) if place is not None else None
        if on_disk is not None:
            self._note(on_disk)
        is_synced = _is_synced(skill, on_disk)
        if is_synced and on_disk is not None and self._versions.version(name) != skill.version:
            self._history.add_read_files(on_disk, skill)
        if not is_synced:
            past = self.past(name)
            skill = self._import_edits(skill, on_disk, past)
            is_synced = self._write_files(skill, on_disk, past)
        if not skill.exists:
            self._versions.remove(name)
        elif is_synced and all(self.why_blocked(name, path) is None for path in skill.files):
            self._versions.add(SkillPlace(skill.category, name), skill.version)
        return is_synced

    def _write_over(self, there: Mapping[str, SkillPlace], forgotten: int) -> None:
        """Overwrite the files from the log: they may contain forgotten text."""
        self._history.begin_again(forgotten)
        for name, place in there.items():
            skill = self._skills.get(name)
            on_disk = self._disk.read(place)
            if skill is None or not skill.exists or on_disk is None:
                continue
            for path, file in skill.files.items():
                if path in on_disk.files and on_disk.files[path] != file:
                    mark = self._disk.write(place, path, file)
                    self._history.add_written_file(place, path, file, mark, skill.version)

    def _import_edits(self, skill: Skill, on_disk: OnDisk | None, past: Sequence[Skill]) -> Skill:
        """Import a user's edits of a skill's files; returns the skill."""
        if not skill.exists and not self._can_begin(on_disk):
            return skill

        def change(load: StateLoader) -> DecisionResult:
            now: Skill = load(skill.stream)
            events = self._edits(now, on_disk, past)
            return DecisionResult(writes=(StreamEvents(now.stream, events),) if events else ())

        changed = self._engine.change(change, HAND_EDIT)
        after = self._load(skill.name) if changed.writes else skill
        if on_disk is not None:
            self._history.add_read_files(on_disk, after)
        return after

    def _edits(self, now: Skill, on_disk: OnDisk | None, past: Sequence[Skill]) -> tuple[SkillEvent, ...]:
        version = self._versions.version(now.name)
        laid_out = past[version] if version is not None and version < len(past) else None
        holdings = {} if on_disk is None else self._history.before(on_disk, past)
        return import_edits(now, _usable(now, on_disk), past=past, laid_out=laid_out, holdings=holdings)

    def _can_begin(self, on_disk: OnDisk | None) -> bool:
        """Whether the folder is a new skill that can be imported."""
        main = on_disk.files.get(MAIN_FILE) if on_disk is not None else None
        if on_disk is None or main is None:
            return False
        try:
            front_matter.read(main.content)
        except Rejected as rejection:
            self._problem(str(on_disk.place), rejection.message)
            return False
        return True

    def _write_files(self, skill: Skill, on_disk: OnDisk | None, past: Sequence[Skill]) -> bool:
        """Write the files as the log has them; whether that is what lies there now.

        What the log never had is left alone, and so is a file that was changed since it was found.
        """
        place = SkillPlace(skill.category, skill.name)
        there: Files = {} if on_disk is None else on_disk.files
        if on_disk is not None and not skill.exists:
            place = on_disk.place
        elif on_disk is not None and on_disk.place != place:
            self._disk.move(on_disk.place, place)
        is_complete = True
        for path in sorted({*skill.files, *there}):
            file, before = skill.files.get(path), there.get(path)
            if file == before or self.why_blocked(skill.name, path) is not None:
                continue
            if not self._disk.holds(place, path, before):
                is_complete = False
            elif file is not None:
                mark = self._disk.write(place, path, file)
                self._history.add_written_file(place, path, file, mark, skill.version)
            elif before is not None and is_stale(path, before, past):
                self._disk.remove(place, path)
                self._history.removed(place, path)
        return is_complete

    def _note(self, on_disk: OnDisk) -> None:
        for problem in on_disk.problems:
            self._problem(f"{on_disk.place}/{problem.path}", problem.reason)
            self._blocked.setdefault(on_disk.place.name, {})[problem.path] = problem.reason

    def _problem(self, path: str, reason: str) -> None:
        self.problems = (*self.problems, Problem(path, reason))


def _is_synced(skill: Skill, on_disk: OnDisk | None) -> bool:
    """Whether the files equal the log."""
    if on_disk is None:
        return not skill.exists
    return skill.files == on_disk.files and (not skill.exists or skill.category == on_disk.place.category)


def _usable(skill: Skill, on_disk: OnDisk | None) -> FolderFiles | None:
    """The files found, with the log's content in place of unusable ones."""
    if on_disk is None:
        return None
    blocked = {path: skill.files[path] for path in on_disk.blocked & skill.files.keys()}
    return FolderFiles(category=on_disk.place.category, files={**blocked, **on_disk.files})
