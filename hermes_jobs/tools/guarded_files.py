"""Finds the guarded files of folders, and what is in them.

A folder is read again only if its inode has changed since: a command cannot set the change time of an inode
(stat(2)). What changed just before it was read may change again in the same tick, so that is not remembered.
"""

# Paths are compared as text, and each call counts: pathlib is not worth its time here.
# ruff: noqa: PTH115, PTH119, PTH123, PTH208

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import msgspec

from hermes_jobs.tools.tables import load, words

MAX_FOLDERS = 2_000
MAX_DEPTH = 32
MAX_MODULE_DEPTH = 6  # a submodule's name may have slashes, and it may have submodules
MAX_BYTES = 1_000_000  # of a file that can be restored
MAX_ENTRIES = 2_000  # of one guarded folder; one with more is guarded as a whole
MAX_REMEMBERED = 50_000
TICK_NS = 100_000_000
"""Longer than the steps of a file system's clock."""

_INTERNAL = frozenset(
    {"branches", "hooks", "info", "lfs", "logs", "objects", "refs", "rr-cache", "worktrees"}
)
"""Folders of a repository that hold none."""


class File(msgspec.Struct, frozen=True):
    """A guarded file: its content (of a link: its target) and its mode. `content` None: too large, or
    unreadable."""

    content: bytes | None
    mode: int


@dataclass(frozen=True, slots=True)
class _Listing:
    """A folder as it was read: its folders, those of them that are searched, and names that matter."""

    stamp: tuple[int, int]
    folders: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


_NOTHING = _Listing((0, 0))
_listings: dict[str, _Listing] = {}
_contents: dict[str, tuple[tuple[int, ...], File]] = {}
_entries: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What there is in folders: the folders searched, paths that are guarded, and repositories of git with
    the names that matter in them. `whole`: no folder was left out. `at`: since when, in ns since 1970."""

    folders: Sequence[str]
    paths: Sequence[str]
    repositories: Mapping[str, frozenset[str]]
    whole: bool = True
    at: int = 0

    def files(self) -> Mapping[str, File]:
        """The guarded files by path."""
        guarded = [*self.paths]
        for repository, names in self.repositories.items():
            guarded += [f"{repository}/{name}" for name in git_names() if name in names]
        now = time.time_ns()
        return {path: file for each in guarded for path, file in _files(each, now)}


def find(roots: Iterable[str], known: Iterable[str] = ()) -> Found:
    """Search the roots, not in installed packages, nearest folders first, and besides the `known` folders."""
    for remembered in (_listings, _contents, _entries):
        if len(remembered) > MAX_REMEMBERED:
            remembered.clear()
    now = time.time_ns()
    names: dict[str, frozenset[str]] = {}
    whole = True
    for root in roots:
        searched = dict(islice(_below(root, now), MAX_FOLDERS + 1))
        if len(searched) > MAX_FOLDERS:
            whole = False
            searched.popitem()
        names.update(searched)
    names.update((folder, _look(folder, now).names) for folder in known if folder not in names)
    first = [(name, name.partition("/")[0]) for name in guarded_names()]
    paths: list[str] = []
    repositories: dict[str, frozenset[str]] = {}
    for folder in [folder for folder, there in names.items() if there]:
        there = names[folder]
        paths += [f"{folder}/{name}" for name, top in first if top in there]
        if "HEAD" in there and "objects" in there:
            repositories.update(_repositories(folder, there, now))
        elif ".git" in there:
            git = f"{folder}/.git"
            listing = _look(git, now)
            if listing is _NOTHING:
                paths.append(git)  # a file or a link that leads to a repository
            else:
                repositories.update(_repositories(git, listing.names, now))
    return Found(
        folders=tuple(names), paths=tuple(paths), repositories=repositories, whole=whole, at=now - TICK_NS
    )


def changed_since(path: str, moment: int) -> bool:
    """Whether the inode at a path may have changed since then, in ns since 1970."""
    try:
        return os.lstat(path).st_ctime_ns >= moment
    except OSError:
        return False


def _below(root: str, now: int) -> Iterator[tuple[str, frozenset[str]]]:
    """The folder and those below it, nearest first, with the names that matter in them."""
    level = [root]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[str] = []
        for folder in level:
            listing = _look(folder, now)
            yield folder, listing.names
            deeper += listing.searched
        level = deeper


def _repositories(git: str, names: frozenset[str], now: int) -> Iterator[tuple[str, frozenset[str]]]:
    """The repository, and those of its submodules and linked worktrees."""
    yield git, names
    if "worktrees" in names:
        yield from ((each, _look(each, now).names) for each in _look(f"{git}/worktrees", now).folders)
    level = [f"{git}/modules"] if "modules" in names else []
    for _ in range(MAX_MODULE_DEPTH):
        deeper: list[str] = []
        for folder in level:
            listing = _look(folder, now)
            for child in listing.folders:
                if "HEAD" in listing.names and os.path.basename(child) in _INTERNAL:
                    continue
                deeper.append(child)
                names = _look(child, now).names
                if "HEAD" in names:
                    yield child, names
        level = deeper


def _look(folder: str, now: int) -> _Listing:
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
    relevant, skipped = _relevant(), words("sensitive_paths", "not_searched")
    folders: list[str] = []
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in relevant:
                    names.add(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:
        return _NOTHING
    folders.sort()
    listing = _Listing(
        stamp,
        tuple(f"{folder}/{name}" for name in folders),
        tuple(f"{folder}/{name}" for name in folders if name not in skipped),
        frozenset(names),
    )
    if now - status.st_ctime_ns > TICK_NS:
        _listings[folder] = listing
    return listing


def _files(path: str, now: int) -> Iterator[tuple[str, File]]:
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
    if now - status.st_ctime_ns > TICK_NS:
        _contents[path] = (stamp, file)
    yield path, file


def read(path: str) -> Mapping[str, File]:
    """The file at a path, or those of the folder there, by path."""
    return dict(_files(path, time.time_ns()))


def _names_in(folder: str, status: os.stat_result, now: int) -> tuple[str, ...]:
    stamp = (status.st_ino, status.st_ctime_ns)
    remembered = _entries.get(folder)
    if remembered is not None and remembered[0] == stamp:
        return remembered[1]
    try:
        names = tuple(sorted(name for name in os.listdir(folder) if not name.endswith(".sample")))
    except OSError:
        return ()
    if now - status.st_ctime_ns > TICK_NS:
        _entries[folder] = (stamp, names)
    return names


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
    first = {name.partition("/")[0] for name in guarded_names()}
    return frozenset({".git", "HEAD", "objects", "modules", "worktrees", *first, *git_names()})


@cache
def guarded_names() -> tuple[str, ...]:
    """What editors and shells run by themselves, from a folder."""
    return tuple(load("sensitive_paths")["guarded"]["names"])


@cache
def git_names() -> tuple[str, ...]:
    """What git runs, or reads its settings from, in a repository."""
    return tuple(sorted(words("sensitive_paths", "git")))
