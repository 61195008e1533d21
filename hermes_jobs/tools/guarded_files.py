"""Finds the guarded files of folders, and what is in them.

A folder is read again only if its inode has changed since: a command cannot set the change time of an inode
(stat(2)). What changed just before it was read may change again in the same tick, so that is not remembered.
"""

# Paths are compared as text, and each call counts: pathlib is not worth its time here.
# ruff: noqa: PTH101, PTH115, PTH119, PTH123, PTH207

from __future__ import annotations

import glob
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from functools import cache
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec

from hermes_jobs.tools import git_places
from hermes_jobs.tools.git_places import TICK_NS
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sensitive_paths import guarded_names, instruction_names
from hermes_jobs.tools.tables import words

Listed = TypeVar("Listed")
MAX_FOLDERS = 2_000
MAX_DEPTH = 32
MAX_MODULE_DEPTH = 6  # a submodule's name may have slashes, and it may have submodules
MAX_BYTES = 1_000_000  # of a file that can be restored
MAX_ENTRIES = 2_000  # of one guarded folder; one with more is guarded as a whole
MAX_REMEMBERED = 50_000

_INTERNAL = frozenset(
    {"branches", "hooks", "info", "lfs", "logs", "objects", "refs", "rr-cache", "worktrees"}
)
"""Folders of a repository that hold none."""


class File(msgspec.Struct, frozen=True):
    """A guarded file: its content (None: too large, or unreadable; of a link: its target) and its mode."""

    content: bytes | None
    mode: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder as it was read: its folders, those of them that are searched, and names that matter."""

    stamp: tuple[int, int]
    folders: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


class When(NamedTuple):
    """When folders are read, and since when those that cannot be listed are opened; None: never."""

    read: int
    opened: int | None = None


_NOTHING = Listing((0, 0))
_listings: dict[str, Listing] = {}
_contents: dict[str, tuple[tuple[int, ...], File]] = {}
_entries: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What there is in folders: the folders searched, paths that are guarded, and repositories of git with
    the names that matter in them. `instructions`: paths that prompts have later. `submodules`: folders that
    an index names, each with its git folder. `named`: paths that settings of git name (`git_named`).
    `roots`: the folders searched; links lead to guarded files within them, too. `whole`: no folder was left
    out. `at`: since when, in ns since 1970. `opened`: as in `find`."""

    folders: Sequence[str]
    paths: Sequence[str]
    repositories: Mapping[str, frozenset[str]]
    roots: Sequence[str] = ()
    instructions: Sequence[str] = ()
    submodules: Mapping[str, str] = field(default_factory=dict[str, str])
    named: Sequence[str] = ()
    whole: bool = True
    at: int = 0
    opened: int | None = None

    def files(self, *, instructions: bool = False) -> Mapping[str, File]:
        """The guarded files by path."""
        guarded = [*self.paths, *self.named, *(self.instructions if instructions else ())]
        for repository, names in self.repositories.items():
            guarded += [f"{repository}/{name}" for name in git_names() if name in names]
        when = When(time.time_ns(), self.opened)
        found = {path: file for each in guarded for path, file in _files(each, when)}
        links = [path for path, file in found.items() if stat.S_ISLNK(file.mode)]
        for target in filter(os.path.isfile, map(os.path.realpath, links)):
            if any(is_inside(target, root) for root in self.roots):
                found |= _files(target, when)
        return found


def find(roots: Iterable[str], known: Iterable[str] = (), *, opened: int | None = None) -> Found:
    """Search the roots, not in installed packages, nearest folders first, and besides the `known` folders.

    git runs hooks of a folder that nobody can list. One that was made so since `opened`, in ns since 1970, is
    made readable for its owner.
    """
    for remembered in (_listings, _contents, _entries):
        if len(remembered) > MAX_REMEMBERED:
            remembered.clear()
    now = When(time.time_ns(), opened)
    roots, whole = tuple(roots), True
    names: dict[str, frozenset[str]] = {}
    for root in roots:
        searched = dict(islice(_below(root, now), MAX_FOLDERS + 1))
        if len(searched) > MAX_FOLDERS:
            whole = False
            searched.popitem()
        names.update(searched)
    names.update((folder, look(folder, now).names) for folder in known if folder not in names)
    submodules = dict(git_places.submodules(git_places.working(names)))
    names.update((folder, look(folder, now).names) for folder in submodules if folder not in names)
    paths: list[str] = []
    instructions: list[str] = []
    repositories: dict[str, frozenset[str]] = {}
    for folder in filter(names.get, names):
        for those, known_names in ((paths, guarded_names()), (instructions, instruction_names())):
            those.extend(places_of(known_names, folder, names[folder]))
        pointer, git = _git_of(folder, names[folder], roots, now)
        paths += [pointer] if pointer else []
        repositories.update(_repositories(git, look(git, now).names, now) if git else ())
    return Found(
        folders=tuple(names),
        paths=tuple(paths),
        repositories=repositories,
        roots=roots,
        instructions=tuple(instructions),
        submodules=submodules,
        whole=whole,
        at=now.read - TICK_NS,
        opened=opened,
    )


def places_of(names: Iterable[str], folder: str, there: Collection[str]) -> Iterator[str]:
    """The paths of guarded names in a folder, by the names that are `there`; with `*` those that exist."""
    for name in names:
        first, slash, _rest = name.partition("/")
        if "*" in first:
            yield from (
                f"{folder}/{each}" for each in sorted(there) if not slash and fnmatchcase(each, first)
            )
        elif first in there and "*" in name:
            yield from sorted(glob.iglob(f"{glob.escape(folder)}/{name}"))
        elif first in there:
            yield f"{folder}/{name}"


def _git_of(folder: str, names: frozenset[str], roots: Sequence[str], now: When) -> tuple[str, str]:
    """What leads to the repository of a folder, and the repository in the roots; empty without."""
    if ".git" not in names or {"HEAD", "objects"} <= names:
        return "", folder if {"HEAD", "objects"} <= names else ""
    own, git = f"{folder}/.git", git_places.git_folder(folder)
    listing = look(git, now)
    is_there = "HEAD" in listing.names and any(is_inside(git, root) for root in roots)
    return "" if git == own and listing is not _NOTHING else own, git if git == own or is_there else ""


def changed_since(path: str, moment: int) -> bool:
    """Whether the inode at a path may have changed since then, in ns since 1970."""
    try:
        return os.lstat(path).st_ctime_ns >= moment
    except OSError:
        return False


def _below(root: str, now: When) -> Iterator[tuple[str, frozenset[str]]]:
    """The folder and those below it, nearest first, with the names that matter in them."""
    level = [root]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[str] = []
        for folder in level:
            listing = look(folder, now)
            yield folder, listing.names
            deeper += listing.searched
        level = deeper


def _repositories(git: str, names: frozenset[str], now: When) -> Iterator[tuple[str, frozenset[str]]]:
    """The repository, and those of its submodules and linked worktrees."""
    yield git, names
    if "worktrees" in names:
        yield from ((each, look(each, now).names) for each in look(f"{git}/worktrees", now).folders)
    level = [f"{git}/modules"] if "modules" in names else []
    for _ in range(MAX_MODULE_DEPTH):
        deeper: list[str] = []
        for folder in level:
            listing = look(folder, now)
            for child in listing.folders:
                if "HEAD" in listing.names and os.path.basename(child) in _INTERNAL:
                    continue
                deeper.append(child)
                names = look(child, now).names
                if "HEAD" in names:
                    yield child, names
        level = deeper


def look(folder: str, now: When) -> Listing:
    """The folder's listing; an empty one for what is not a folder."""
    try:
        status = os.lstat(folder)
    except OSError:
        return _NOTHING
    stamp = (status.st_ino, status.st_ctime_ns)
    remembered = _listings.get(folder)
    if remembered is not None and remembered.stamp == stamp:
        return remembered
    if not stat.S_ISDIR(status.st_mode):
        return _NOTHING
    relevant, wild, skipped = _relevant(), _wild(), words("sensitive_paths", "not_searched")
    folders: list[str] = []
    names: set[str] = set()
    try:
        with _opened(os.scandir, folder, status, now) as entries:
            for entry in entries:
                if entry.name in relevant or wild(entry.name):
                    names.add(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:
        return _NOTHING
    folders.sort()
    listing = Listing(
        stamp,
        tuple(f"{folder}/{name}" for name in folders),
        tuple(f"{folder}/{name}" for name in folders if name not in skipped),
        frozenset(names),
    )
    if now.read - status.st_ctime_ns > TICK_NS:
        _listings[folder] = listing
    return listing


def _files(path: str, now: When) -> Iterator[tuple[str, File]]:
    """The file at a path, or those of the folder there."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISDIR(status.st_mode):
        names = _names_in(path, status, now)
        if len(names) > MAX_ENTRIES:
            yield path, File(None, status.st_mode)
            return
        for name in names:
            yield from _files(f"{path}/{name}", now)
        return
    stamp = (status.st_ino, status.st_ctime_ns, status.st_size, status.st_mode)
    remembered = _contents.get(path)
    if remembered is not None and remembered[0] == stamp:
        yield path, remembered[1]
        return
    file = File(_content(path, status), status.st_mode)
    if now.read - status.st_ctime_ns > TICK_NS:
        _contents[path] = (stamp, file)
    yield path, file


def read(path: str, *, opened: int | None = None) -> Mapping[str, File]:
    """The file at a path, or those of the folder there, by path. `opened`: as in `find`."""
    return dict(_files(path, When(time.time_ns(), opened)))


def _names_in(folder: str, status: os.stat_result, now: When) -> tuple[str, ...]:
    stamp = (status.st_ino, status.st_ctime_ns)
    remembered = _entries.get(folder)
    if remembered is not None and remembered[0] == stamp:
        return remembered[1]
    try:
        listed = _opened(os.listdir, folder, status, now)
        names = tuple(sorted(name for name in listed if not name.endswith(".sample")))
    except OSError:
        return ()
    if now.read - status.st_ctime_ns > TICK_NS:
        _entries[folder] = (stamp, names)
    return names


def _opened(lists: Callable[[str], Listed], folder: str, status: os.stat_result, when: When) -> Listed:
    """The list of a folder. Raises `OSError`."""
    try:
        return lists(folder)
    except PermissionError:
        if when.opened is None or status.st_ctime_ns < when.opened:
            raise
        os.chmod(folder, stat.S_IMODE(status.st_mode) | stat.S_IRUSR | stat.S_IXUSR)
        return lists(folder)


def _content(path: str, status: os.stat_result) -> bytes | None:
    try:
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
            with open(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
            ) as file:
                return file.read(MAX_BYTES)
    except OSError:
        return None
    return None


@cache
def _relevant() -> frozenset[str]:
    first = {name.partition("/")[0] for name in (*guarded_names(), *instruction_names())}
    return frozenset({".git", "HEAD", "objects", "modules", "worktrees", *first, *git_names()})


@cache
def _wild() -> Callable[[str], object]:
    """Whether a name is one of those with `*`."""
    first = (name.partition("/")[0] for name in guarded_names())
    return re.compile("|".join(translate(name) for name in first if "*" in name)).match


@cache
def git_names() -> tuple[str, ...]:
    """What git runs, or reads its settings from, in a repository."""
    return tuple(sorted(words("sensitive_paths", "git")))
