"""What patterns of the shell stand for, and links in a folder that lead to what is protected."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH206

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice

from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.judging_budget import Budget
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.process_paths import differs_by_process
from hermes_jobs.tools.sensitive_paths import secret_places

GLOB = re.compile(r"[*?[]")
MOST_ENTRIES = 1_000
"""The most entries of folders among which those are looked for that a pattern stands for."""
_LONGEST = 500  # characters of a pattern: its translation takes time by their square
MOST_SEARCHED = 200_000
"""The most entries of a folder, with those below it, that are looked through for links."""


def fits(name: str, pattern: str) -> bool:
    """Whether a pattern without slashes may stand for a name. A long one may."""
    return len(pattern) > _LONGEST or fnmatchcase(name, pattern)


class Folders:
    """The names in folders, for the patterns of one command line: each folder is read once."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._names: dict[str, Sequence[str]] = {}
        self._matching: dict[str, Sequence[str] | None] = {}

    def names(self, folder: str) -> Sequence[str]:
        """The first names in a folder, at most one more than `MOST_ENTRIES`. Raises `Unparsable`."""
        if folder not in self._names:
            self._budget.path()
            self._names[folder] = _names(folder)
        return self._names[folder]

    def matching(self, path: str) -> Sequence[str] | None:
        """The paths that a pattern of the shell stands for; None if too many must be looked at.

        Raises `Unparsable`."""
        if path not in self._matching:
            self._budget.path()
            self._matching[path] = self._found(path)
        return self._matching[path]

    def _found(self, path: str) -> Sequence[str] | None:
        found, left = [os.sep], MOST_ENTRIES
        for part in path.strip(os.sep).split(os.sep):
            if not GLOB.search(part):
                found = [os.path.join(folder, part) for folder in found]
                continue
            spelled = "*" if re.search(r"\[[:.=]", part) else part.replace("[^", "[!")
            deeper: list[str] = []
            for folder in found:
                names = self.names(folder)
                left -= len(names)
                if left < 0:
                    return None
                deeper += [
                    os.path.join(folder, name)
                    for name in names
                    if fits(name, spelled) and (name[0] != "." or part[0] in ".[")
                ]
            found = deeper
        return [path for path in found if os.path.lexists(path)]


def _names(folder: str) -> Sequence[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, MOST_ENTRIES + 1)]
    except OSError:
        return []


class TooManyEntries(Exception):
    """A folder has more entries below it than are looked through."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {MOST_SEARCHED:,} files, in which links are not looked for")


def entries_below(
    folder: str, most: int = MOST_SEARCHED, *, linked: bool = False
) -> Iterator[os.DirEntry[str]]:
    """The entries of a folder and of those below it that can be read; `linked`: also behind links.

    Raises `TooManyEntries`."""
    open_folders, reached = deque([folder]), {os.path.realpath(folder)}
    while open_folders:
        try:
            with os.scandir(open_folders.popleft()) as entries:
                for entry in entries:
                    most -= 1
                    if most < 0:
                        raise TooManyEntries
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        open_folders.append(entry.path)
                    elif linked and entry.is_dir() and (real := os.path.realpath(entry.path)) not in reached:
                        reached.add(real)
                        open_folders.append(entry.path)
        except OSError:
            continue


def link_to_keys(folder: str, paths: PathPolicy, most: int = MOST_SEARCHED, *, linked: bool = False) -> str:
    """A link at or below a folder that leads to what is protected, or why that is not known; else empty.

    `linked`: what reads the folder goes through links to other folders."""
    protected = (os.path.realpath(paths.home), *secret_places(paths.user_home))
    try:
        for entry in entries_below(folder, most, linked=linked):
            if entry.is_symlink():
                real = os.path.realpath(entry.path)
                if _is_protected(real, protected, paths) or differs_by_process(entry.path):
                    return f"the link {os.path.relpath(entry.path, folder)} leads to {real}"
    except TooManyEntries as error:
        return str(error)
    return ""


def holds_keys(real: str, paths: PathPolicy) -> bool:
    """Whether a real path is protected, or a folder with something protected below it."""
    return _is_protected(real, (os.path.realpath(paths.home), *secret_places(paths.user_home)), paths)


def _is_protected(real: str, protected: tuple[str, ...], paths: PathPolicy) -> bool:
    if paths.kind(real) == "secret" or paths.is_private(real) or is_inside(real, "/proc"):
        return True
    return any(is_inside(place, real) for place in protected)
