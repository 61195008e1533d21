"""Folders of skills on disk: finding skills, and writing files atomically.

    NAME/SKILL.md, NAME/references/…        a skill
    CATEGORY/NAME/SKILL.md                  a skill in a category

Links are never followed.
"""

# Opened by descriptor, folder by folder, so that no link that appears meanwhile leads elsewhere.
from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from hermes_jobs.features.skills.content import Signature, UnusableText, content_of, read_file, signature_of
from hermes_jobs.features.skills.events import SkillFile
from hermes_jobs.features.skills.names import is_ignored, is_read
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Files
from hermes_jobs.folders.marks import Mark, mark_file

MAX_FILES = 1_000
MAX_LEVELS = 8
UNFINISHED = ".unfinished"
LOWER_CASE = "skill.md"  # other spellings of SKILL.md
STABLE_AFTER_NS = 2_000_000_000  # a file that was touched more recently may change without looking changed

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Problem(msgspec.Struct, frozen=True):
    """An unusable path, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class SkillPlace(msgspec.Struct, frozen=True):
    """The place of a skill: its category ("" for none) and its name."""

    category: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.category, self.name) if part)


class OnDisk(msgspec.Struct, frozen=True, kw_only=True):
    """A skill's folder. `blocked` are the paths that cannot be used; they are never changed.

    `saved_at`: the modification time of each file, in ns.
    """

    place: SkillPlace
    files: Files
    saved_at: Mapping[str, int] = {}
    problems: tuple[Problem, ...] = ()

    @property
    def blocked(self) -> frozenset[str]:
        return frozenset(problem.path for problem in self.problems)


class Disk:
    """One folder of skills. Caches contents, so that only changed files are read again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[str, tuple[Signature, SkillFile]] = {}

    # --- reading --------------------------------------------------------------------------------

    def places(
        self, known_places: Collection[SkillPlace] = (), *, links: bool = False
    ) -> tuple[list[SkillPlace], list[Problem]]:
        """The places of skills, in order; also of known ones whose SKILL.md is missing.

        `links`: a skill's folder may be a link. Raises `OSError` if the root cannot be read.
        """
        by_name: dict[str, SkillPlace] = {}
        problems: list[Problem] = []
        for place in self._candidates(known_places, problems, links=links):
            if not is_read(place.name) or (place.category and not is_read(place.category)):
                reason = "a skill's folder is named with lower-case letters, digits, and . _ - between them"
                problems.append(Problem(str(place), reason))
            elif place.name in by_name and place not in known_places:
                problems.append(
                    Problem(str(place), f"there is another skill of that name, {by_name[place.name]}")
                )
            else:
                if place.name in by_name:
                    reason = f"there is another skill of that name, {place}"
                    problems.append(Problem(str(by_name[place.name]), reason))
                by_name[place.name] = place
        return list(by_name.values()), problems

    def read(self, place: SkillPlace) -> OnDisk | None:
        """All files in a skill's folder; None if there are none. Raises `OSError`."""
        folder = self.root / str(place)
        problems: list[Problem] = []
        files: dict[str, SkillFile] = {}
        saved_at: dict[str, int] = {}
        for path, entry in _walk(folder, problems):
            if len(files) >= MAX_FILES:
                problems.append(Problem(path, f"a skill has at most {MAX_FILES:,} files"))
                break
            try:
                files[path] = self._file(entry, path)
                saved_at[path] = entry.stat(follow_symlinks=False).st_mtime_ns
            except UnusableText as error:
                problems.append(Problem(path, str(error)))
        if MAIN_FILE not in files and LOWER_CASE in files:
            files[MAIN_FILE] = files.pop(LOWER_CASE)
            saved_at[MAIN_FILE] = saved_at.pop(LOWER_CASE)
        if not files and not problems:
            return None
        return OnDisk(place=place, files=files, saved_at=saved_at, problems=tuple(problems))

    def paths(self, place: SkillPlace) -> tuple[str, ...]:
        """The files in a skill's folder, unread."""
        return tuple(sorted(path for path, _ in _walk(self.root / str(place), [])))

    def file(self, place: SkillPlace, path: str) -> SkillFile:
        """One file of a skill. Raises `UnusableText`."""
        real = self.root / str(place) / path
        inside = real.parent.resolve().is_relative_to((self.root / str(place)).resolve())
        if not inside or ".." in Path(path).parts:
            raise UnusableText("it leads out of the skill's folder")
        return read_file(real, path)

    def holds(self, place: SkillPlace, path: str, file: SkillFile | None) -> bool:
        """Whether a file has that content now; None: there is no file."""
        folder = self.root / str(place)
        real = folder / path
        if path == MAIN_FILE and not os.path.lexists(real):
            real = folder / LOWER_CASE
        if file is None:
            return not os.path.lexists(real)
        with suppress(UnusableText):
            return read_file(real, path) == file
        return False

    def _candidates(
        self, known_places: Collection[SkillPlace], problems: list[Problem], *, links: bool
    ) -> Iterator[SkillPlace]:
        categories = {place.category for place in known_places}
        for name in _folders(self.root, problems, "", links=links):
            if SkillPlace("", name) in known_places or (
                _has_main(self.root / name) and name not in categories
            ):
                yield SkillPlace("", name)
                continue
            if _has_main(self.root / name):
                problems.append(Problem(f"{name}/{MAIN_FILE}", "its folder is a category of other skills"))
            try:
                inside = _folders(self.root / name, problems, f"{name}/", links=links)
            except OSError as error:  # the other files are still usable
                problems.append(Problem(name, f"it cannot be read ({error.strerror})"))
                inside = [place.name for place in known_places if place.category == name]
            for inner in inside:
                if SkillPlace(name, inner) in known_places or _has_main(self.root / name / inner):
                    yield SkillPlace(name, inner)

    def _file(self, entry: os.DirEntry[str], path: str) -> SkillFile:
        signature = signature_of(entry.stat(follow_symlinks=False))
        cached = self._read.get(entry.path)
        if cached is not None and cached[0] == signature:
            return cached[1]
        file = read_file(Path(entry.path), path)
        if time.time_ns() - max(signature[0], signature[1]) > STABLE_AFTER_NS:
            self._read[entry.path] = (signature, file)
        return file

    # --- writing --------------------------------------------------------------------------------

    def write(self, place: SkillPlace, path: str, file: SkillFile) -> Mark:
        """Write a file atomically, synced to the disk. Raises `OSError`, also if the path is a link."""
        if path == MAIN_FILE:
            (self.root / str(place) / LOWER_CASE).unlink(missing_ok=True)
        content = content_of(file)
        mode = 0o700 if content.startswith(b"#!") else 0o600
        *folders, name = f"{place}/{path}".split("/")
        with ExitStack() as opened:
            root = _opened(opened, self.root.resolve())
            parent = root
            for folder in folders:
                _make_folder(folder, parent)
                parent = _opened(opened, folder, parent)
            draft = os.open(
                UNFINISHED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode, dir_fd=root
            )
            with os.fdopen(draft, "wb") as target:
                os.fchmod(draft, mode)
                target.write(content)
                target.flush()
                os.fsync(draft)
            mark = mark_file(self.root / UNFINISHED)
            os.rename(UNFINISHED, name, src_dir_fd=root, dst_dir_fd=parent)
            os.fsync(parent)
        return mark

    def remove(self, place: SkillPlace, path: str) -> None:
        """Remove a file, and the folders that are empty without it. Raises `OSError`."""
        target = self.root / str(place) / path
        target.unlink(missing_ok=True)
        folder = target.parent
        while folder != self.root and _remove_if_empty(folder):
            folder = folder.parent

    def move(self, place: SkillPlace, to: SkillPlace) -> None:
        """Move a skill's folder to a free place. Raises `OSError`."""
        target = self.root / str(to)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        (self.root / str(place)).rename(target)
        if place.category:
            _remove_if_empty(self.root / place.category)


def _folders(folder: Path, problems: list[Problem], prefix: str, *, links: bool) -> list[str]:
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_ignored(entry.name):
                continue
            is_folder = _is_folder(entry)
            if entry.is_symlink() and not links and is_folder:
                reason = "it is a link; name the folder it leads to in skills.external_dirs"
                problems.append(Problem(f"{prefix}{entry.name}", reason))
            elif is_folder:
                folders.append(entry.name)
    return sorted(folders)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or a link to one; false for broken links and loops."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _has_main(folder: Path) -> bool:
    """Whether the folder is a skill, or unreadable: reading it gives the reason."""
    try:
        return any((folder / name).is_file() for name in (MAIN_FILE, LOWER_CASE))
    except OSError:
        return True


def _walk(
    folder: Path | str, problems: list[Problem], prefix: str = "", level: int = 0
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files below a folder with their paths; anything but a plain file is a problem."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda item: item.name)
    except FileNotFoundError:
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if is_ignored(entry.name):
            continue
        if entry.is_symlink():
            problems.append(Problem(path, "it is a link"))
        elif entry.is_dir():
            if level < MAX_LEVELS:
                yield from _walk(entry.path, problems, f"{path}/", level + 1)
            else:
                problems.append(Problem(path, "it lies too deep"))
        else:
            yield path, entry


def _opened(stack: ExitStack, folder: Path | str, parent: int | None = None) -> int:
    descriptor = os.open(folder, _FOLDER, dir_fd=parent)
    stack.callback(os.close, descriptor)
    return descriptor


def _make_folder(folder: str, parent: int) -> None:
    try:
        os.mkdir(folder, 0o700, dir_fd=parent)
    except FileExistsError:
        return


def _remove_if_empty(folder: Path) -> bool:
    """Remove the folder if only caches are left in it; returns whether it was removed."""
    cache = folder / "__pycache__"
    with suppress(OSError):
        for path in cache.glob("*.pyc"):
            path.unlink()
        cache.rmdir()
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
