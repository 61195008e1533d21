"""The files of a search, without links, files that git ignores, and files of hermes-jobs."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH110, PTH112, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pathspec import GitIgnoreSpec

from hermes_jobs.tools.path_policy import PathPolicy, open_verified
from hermes_jobs.tools.sensitive_paths import SECRETS
from hermes_jobs.tools.tool import ToolFailed

IGNORE_FILE = ".gitignore"
MAX_IGNORE_BYTES = 1_000_000
REPOSITORIES = frozenset({".git", ".hg", ".svn"})

_Rules: TypeAlias = tuple[tuple[str, GitIgnoreSpec], ...]
"""The ignore files that apply to a folder, each with its own folder; deeper ones decide last."""


@dataclass(frozen=True)
class WalkedFile:
    """A regular file. `path` is real, `relative` is its path from the searched folder."""

    path: str
    relative: str


def candidates(base: str, top: str, paths: PathPolicy) -> Iterator[WalkedFile]:
    """The files at or below the real path `base` in a fixed order; ignore files count up to the folder `top`.

    A file or folder named in the call is searched even if git ignores it. Keys and passwords are skipped,
    unless the search begins among them: then the user has approved it.
    """
    approved = paths.kind(base) in SECRETS

    def is_hidden(path: str) -> bool:
        return paths.is_private(path) or (not approved and paths.kind(path) in SECRETS)

    if not os.path.isdir(base):
        if not paths.is_private(base):
            yield WalkedFile(base, os.path.basename(base))
        return
    rules = {base: _rules_above(base, top)}
    for folder, folders, files, folder_fd in os.fwalk(base, follow_symlinks=False):
        own = (*rules.pop(folder, ()), *_own_rules(folder))
        names = [
            subfolder
            for subfolder in sorted(folders)
            if subfolder not in REPOSITORIES and not _is_ignored(os.path.join(folder, subfolder) + "/", own)
        ]
        folders[:] = [file_name for file_name in names if not is_hidden(os.path.join(folder, file_name))]
        rules.update((os.path.join(folder, subfolder), own) for subfolder in folders)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if _is_regular(name, folder_fd) and not _is_ignored(path, own) and not is_hidden(path):
                yield WalkedFile(path, os.path.relpath(path, base))


def open_regular(path: str) -> int | None:
    """The descriptor of the file at a real path; None if it does not exist, is a link, or cannot be read."""
    try:
        return open_verified(path)
    except (OSError, ToolFailed):
        return None


def _is_regular(name: str, folder_fd: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _rules_above(base: str, top: str) -> _Rules:
    """The ignore files above the folder, up to its repository's; none where they ignore the folder itself."""
    rules: _Rules = ()
    folder = base
    while folder != top and not os.path.exists(os.path.join(folder, ".git")):
        folder = os.path.dirname(folder)
        if folder == os.path.dirname(folder):
            break
        rules = (*_own_rules(folder), *rules)
    return () if _is_ignored(base + "/", rules) else rules


def _own_rules(folder: str) -> _Rules:
    descriptor = open_regular(os.path.join(folder, IGNORE_FILE))
    if descriptor is None:
        return ()
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ()
        lines = file.read(MAX_IGNORE_BYTES).decode(errors="replace").splitlines()
    try:
        return ((folder, GitIgnoreSpec.from_lines(lines)),)
    except ValueError:  # a pattern that is invalid in git, too
        return ()


def _is_ignored(path: str, rules: _Rules) -> bool:
    for folder, spec in reversed(rules):
        decided = spec.check_file(path[len(folder.rstrip("/")) + 1 :]).include
        if decided is not None:
            return decided
    return False
