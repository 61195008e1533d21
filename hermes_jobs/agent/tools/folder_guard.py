"""Files of a working folder that run by themselves later, outside of any sandbox: git's hooks and settings,
`.envrc`, tasks of editors.

A mount namespace keeps commands from changing those that are there (`places`). What the kernel cannot forbid,
such as new ones, is undone when the command has ended (`Guard`): the files are moved to the quarantine of the
home, and what was there before is restored. Settings of git that only name branches, remotes and people stay.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH103, PTH110, PTH112, PTH113, PTH114, PTH115, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_jobs.agent.tools.path_policy import is_inside
from hermes_jobs.agent.tools.tables import load, words

MAX_FOLDERS = 2_000
MAX_DEPTH = 4
MAX_BYTES = 1_000_000  # of a file that can be restored
MAX_FILES = 200  # of one guarded folder

_SECTION = re.compile(r'\[(?:core|user|init|pull|fetch|push|(?:remote|branch|submodule) "[^"\\]*")\]')
_SETTING = re.compile(
    r"(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|name|email|fetch"
    r"|remote|merge|rebase|active|branch|prune|ff|default|defaultbranch|autosetupremote|autocrlf|eol|vscode-merge-base"
    r"|gh-merge-base|gh-resolved|worktree)\s*(?:=\s*[^\\]*)?|(?:push)?url\s*=\s*(?!-)(?:(?!::)[^\\])*",
    re.IGNORECASE,
)
CHANGES_SETTINGS = re.compile(
    r"\bgit\b[^;&|]*\b(?:remote|config|push|branch|checkout|switch|submodule|sparse-checkout|worktree|init|clone)\b"
)
"""Commands that change settings of a repository as part of everyday work: for these they stay writable, and
are checked afterwards."""


@dataclass(frozen=True)
class File:
    """A guarded file: its content, and its rights. `content` None: too large, a link, or unreadable."""

    content: bytes | None
    mode: int


def places(roots: Sequence[str], command: str) -> list[str]:
    """The existing paths that a command cannot write. A repository without a folder for hooks gets one."""
    result = []
    for root in roots:
        for folder in _folders(root):
            result += [path for name in _names() if os.path.exists(path := os.path.join(folder, name))]
            git = os.path.join(folder, ".git")
            if os.path.isfile(git):
                result.append(git)
            for repository in _repositories(git, folder):
                _make_hooks(repository)
                result += _settings(repository, command)
    return list(dict.fromkeys(result))


def git_folders(workdir: str) -> Iterator[str]:
    """The folders outside the working folder where git stores the commits that are made in it.

    Those are the repository of a folder above, of a linked worktree, and of a submodule. A pointer to a
    repository counts only if that one points back, or lies in a repository above.
    """
    real = os.path.realpath(workdir)
    above = [real]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    owners = [os.path.join(folder, ".git") for folder in above]
    own = next((path for path in owners if os.path.lexists(path)), "")
    if os.path.islink(own) or not own:
        return
    if os.path.isdir(own):
        yield from [own] if own != owners[0] else []
        return
    pointed = os.path.realpath(os.path.join(os.path.dirname(own), _line(own).partition("gitdir:")[2].strip()))
    if any(is_inside(pointed, os.path.join(owner, "modules")) for owner in owners if os.path.isdir(owner)):
        yield pointed
    elif os.path.realpath(_line(os.path.join(pointed, "gitdir"))) == own:
        common = _line(os.path.join(pointed, "commondir"))
        yield os.path.realpath(os.path.join(pointed, common)) if common else pointed


class Guard:
    """The guarded files of folders before a command; made before it, and asked after it."""

    def __init__(self, roots: Sequence[str], quarantine: str) -> None:
        self._roots = roots
        self._quarantine = quarantine
        self._known = [folder for root in roots for folder in _folders(root)]
        self._before = _guarded(self._known)

    def restore(self) -> tuple[str, ...]:
        """Undo what came to be; returns the paths concerned."""
        after = _guarded([folder for root in self._roots for folder in _folders(root)])
        known = set(self._known)
        undone = []
        for path in sorted(after.keys() | self._before.keys()):
            was, there = self._before.get(path), after.get(path)
            if there is None or was == there or _is_harmless(path, was, there, known):
                continue
            self._undo(path, was)
            undone.append(path)
        return tuple(undone)

    def _undo(self, path: str, was: File | None) -> None:
        if os.path.lexists(path):
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns()}"
            folder = os.path.join(self._quarantine, name)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            Path(folder, "origin").write_text(f"{path}\n", encoding="utf-8", errors="surrogateescape")
            shutil.move(path, os.path.join(folder, os.path.basename(path)))
        if was is not None and was.content is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(was.content)
                os.fchmod(file.fileno(), was.mode)
        elif was is None and os.path.basename(path) == "config" and os.path.isdir(os.path.dirname(path)):
            Path(path).write_text("[core]\n\trepositoryformatversion = 0\n", encoding="utf-8")


def _is_harmless(path: str, was: File | None, there: File, known: set[str]) -> bool:
    """Whether a change may stay: plain settings of a repository, and files that came with a new folder, which
    nobody trusts yet; git trusts each repository."""
    name, folder = os.path.basename(path), os.path.dirname(path)
    if name == "config" and os.path.exists(os.path.join(folder, "HEAD")):
        old = set() if was is None or was.content is None else set(was.content.splitlines())
        lines = [] if there.content is None else there.content.splitlines()
        return there.content is not None and all(line in old or _is_plain(line) for line in lines)
    if ".git" in path.split("/"):
        return False
    owner = re.split(r"/\.(?:idea|vscode)/", path)[0]
    return was is None and (owner if owner != path else folder) not in known


def _is_plain(line: bytes) -> bool:
    text = line.decode("utf-8", "replace").strip()
    return not text or bool(_SECTION.fullmatch(text) or _SETTING.fullmatch(text))


def _guarded(folders: Sequence[str]) -> Mapping[str, File]:
    """The guarded files right in these folders."""
    files: dict[str, File] = {}
    for folder in folders:
        paths = [os.path.join(folder, name) for name in _names()]
        git = os.path.join(folder, ".git")
        for repository in _repositories(git, folder):
            paths += [os.path.join(repository, name) for name in words("sensitive_paths", "git")]
        paths += [git] if os.path.isfile(git) else []
        for path in paths:
            files.update(_files(path))
    return files


def _files(path: str) -> Iterator[tuple[str, File]]:
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISDIR(status.st_mode):
        for name in sorted(os.listdir(path))[:MAX_FILES]:
            if not name.endswith(".sample"):
                yield from _files(os.path.join(path, name))
        return
    content = None
    if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
        try:
            content = Path(path).read_bytes()
        except OSError:
            content = None
    elif stat.S_ISLNK(status.st_mode):
        content = os.fsencode(os.readlink(path))
    yield path, File(content, stat.S_IMODE(status.st_mode))


def _settings(repository: str, command: str) -> list[str]:
    """The paths in a repository that its programs run or read settings from."""
    names = words("sensitive_paths", "git")
    if CHANGES_SETTINGS.search(command):
        names -= {"config", "config.worktree"}
    return [path for name in sorted(names) if os.path.exists(path := os.path.join(repository, name))]


def _repositories(git: str, folder: str) -> Iterator[str]:
    """The repositories of a folder: at its `.git`, of submodules, and the folder itself if it is one."""
    if os.path.exists(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects")):
        yield folder
        git = folder
    if not os.path.isdir(git) or os.path.islink(git):
        return
    if git != folder:
        yield git
    modules = [os.path.join(git, "modules")]
    for _ in range(MAX_DEPTH):
        modules = [path for folder in modules if os.path.isdir(folder) for path in _below(folder)]
        yield from [path for path in modules if os.path.exists(os.path.join(path, "HEAD"))]


def _make_hooks(repository: str) -> None:
    hooks = os.path.join(repository, "hooks")
    if not os.path.lexists(hooks) and os.access(repository, os.W_OK):
        os.makedirs(hooks, exist_ok=True)


def _folders(root: str) -> Iterator[str]:
    """The folder and those below it, not of installed packages, nearest first, at most `MAX_FOLDERS`."""
    level, count = [root], 0
    skipped = words("sensitive_paths", "not_searched")
    for _ in range(MAX_DEPTH + 1):
        for folder in level:
            count += 1
            if count > MAX_FOLDERS:
                return
            yield folder
        level = [path for folder in level for path in _below(folder) if os.path.basename(path) not in skipped]


def _below(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _names() -> Sequence[str]:
    names: Sequence[str] = load("sensitive_paths")["guarded"]["names"]
    return names


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""
