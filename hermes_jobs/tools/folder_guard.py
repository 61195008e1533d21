"""Files of a working folder that run by themselves later, outside of any sandbox: git's hooks and settings,
`.envrc`, tasks of editors.

A mount namespace keeps commands from changing those that are there (`locked`). What the kernel cannot forbid,
such as new ones, is undone when the command has ended (`Guard`): the files are moved to the quarantine of the
home, and what was there before is restored. Settings of git that name no program stay.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH103, PTH110, PTH112, PTH114, PTH118, PTH119, PTH120, PTH211

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_jobs.tools import guarded_files
from hermes_jobs.tools.guarded_changes import is_harmless
from hermes_jobs.tools.guarded_files import File, Found, changed_since
from hermes_jobs.tools.hidden_modes import Mode, put_back
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.installation import is_projects
from hermes_jobs.tools.made_folders import STAYS, TOO_MANY, is_in_packages, made_since
from hermes_jobs.tools.sensitive_paths import runs_in_project

QUARANTINE, ACCEPTED = "quarantine", "run/guards/accepted"

NAMES_GIT = re.compile(r"\bgit\b")
_CHANGING_VERB = re.compile(
    r"\b(?:remote|config|push|pull|branch|checkout|switch|submodule|sparse-checkout|worktree|init|clone)\b"
)
_CHECKS_OUT = re.compile(
    r"\b(?:pull|checkout|switch|merge|rebase|stash|reset|restore|revert|cherry-pick|am|apply|bisect)\b"
)


def changes_settings(command: str) -> bool:
    """Whether a command changes settings of a repository as part of everyday work.

    For these they stay writable, and are checked afterwards."""
    return _has_verb(command, _CHANGING_VERB)


def _has_verb(command: str, verbs: re.Pattern[str]) -> bool:
    """Whether a part of a command is git with one of these verbs."""
    return any(
        (named := NAMES_GIT.search(part)) is not None and verbs.search(part, named.end()) is not None
        for part in re.split(r"[;&|]", command)
    )


def checks_out(command: str) -> bool:
    """Whether a part of a command is git, checking files out: what the repository has is its own."""
    return _has_verb(command, _CHECKS_OUT)


def locks_repositories(command: str, *, background: bool) -> bool:
    """Whether a command finds whole repositories read-only: a background process that is not git's."""
    return background and not NAMES_GIT.search(command)


def locked(found: Found, command: str, *, background: bool = False) -> list[str]:
    """The existing paths that a command cannot write. A repository without a folder for hooks gets one.

    git fails half-way where it cannot check out a file: for it those stay writable, and are restored."""
    whole = locks_repositories(command, background=background)
    stay = not background and checks_out(command)
    result = []
    for path in (*found.paths, *found.named):
        folder = os.path.dirname(path)
        if stay and os.path.basename(path) != ".git":
            continue
        if os.path.lexists(path):
            result.append(path)
        elif background and os.path.basename(folder) == ".vscode":
            result.append(folder)
    names = {*guarded_files.git_names()} - {"rebase-merge"}
    if changes_settings(command):
        names -= {"config", "config.worktree"}
    for repository in found.repositories:
        if whole:
            result.append(repository)
        elif os.path.basename(os.path.dirname(repository)) != "worktrees":
            _make_hooks(repository)
            result += [path for name in sorted(names) if os.path.exists(path := f"{repository}/{name}")]
    return [path for path in dict.fromkeys(result) if not os.path.islink(path)]


def _make_hooks(repository: str) -> None:
    hooks = f"{repository}/hooks"
    if not os.path.lexists(hooks) and os.access(repository, os.W_OK):
        os.makedirs(hooks, exist_ok=True)


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """The guarded files of folders before a command; made before it, asked after it, and stored as JSON where
    its worker may be killed meanwhile. Paths are bytes, since names may have any.

    With `only_new` changes of files that were there are the person's: the kernel forbade them to the command.
    `whole`: no folder was left out; of others, what came into view is new only if it has changed since `at`.
    `afterwards`: the command line that ends what is left of a command whose worker or keeper was killed.
    `instructions`: the files that later prompts have are guarded, too: after text of others.
    `absent`: protected places that were not there, of which nothing may come to be. `named`: what settings of
    git name. `modes`: those of hidden files, where the kernel cannot keep them.
    """

    roots: tuple[bytes, ...]
    home: bytes
    known: bytes
    before: tuple[tuple[bytes, File], ...]
    only_new: bool = False
    whole: bool = True
    at: int = 0
    afterwards: tuple[str, ...] = ()
    instructions: bool = False
    absent: tuple[bytes, ...] = ()
    named: tuple[bytes, ...] = ()
    modes: tuple[Mode, ...] = ()

    @classmethod
    def of(
        cls,
        roots: Sequence[str],
        found: Found,
        home: str,
        *,
        only_new: bool = False,
        instructions: bool = False,
        absent: Iterable[str] = (),
    ) -> Guard:
        """Of what was found in the folders just now; `home` is that of hermes-jobs."""
        files = found.files(instructions=instructions)
        return cls(
            roots=tuple(map(os.fsencode, roots)),
            home=os.fsencode(home),
            known=os.fsencode("\0".join(found.folders)),
            before=tuple((os.fsencode(path), file) for path, file in files.items()),
            only_new=only_new,
            instructions=instructions,
            whole=found.whole,
            at=found.at,
            absent=tuple(map(os.fsencode, absent)),
            named=tuple(map(os.fsencode, found.named)),
        )

    def overlaps(self, roots: Sequence[str]) -> bool:
        """Whether one of the folders lies in one of this guard's, or the other way round."""
        own = list(map(os.fsdecode, self.roots))
        return any(is_inside(one, other) or is_inside(other, one) for one in own for other in roots)

    def restore(self) -> tuple[str, ...]:
        """Undo what came to be; returns the paths concerned, each as one line, and those that only have to be
        reported."""
        undone = [*put_back(self.modes)]
        changes, reported = self._changes()
        for path, was, _there in changes:
            try:
                self._undo(path, was)
            except FileNotFoundError:
                continue  # another guard was faster
            undone.append(path)
        return tuple(
            r"\n".join(each.splitlines()) for each in (*undone, *(f"{STAYS}{path}" for path in reported))
        )

    def accept(self) -> None:
        """Keep what came to be, also from guards of other commands: a person has approved it."""
        _accept(os.fsdecode(self.home), {path: there for path, _was, there in self._changes()[0]})

    def _changes(self) -> tuple[list[tuple[str, File | None, File]], list[str]]:
        """The paths of files that a command must not leave as they are, with what they were and are; and what
        is to be reported."""
        known, roots = set(os.fsdecode(self.known).split("\0")), list(map(os.fsdecode, self.roots))
        named, made = tuple(map(os.fsdecode, self.named)), made_since(roots, self.at)
        found = guarded_files.find(roots, {*known, *made.folders}, opened=self.at)
        found = dataclasses.replace(found, named=named)
        after = found.files(instructions=self.instructions)
        before: Mapping[str, File] = {os.fsdecode(path): file for path, file in self.before}
        changes: list[tuple[str, File | None, File]] = []
        reported = [] if made.whole else [TOO_MANY]
        repositories, folders = set(found.repositories), set(found.folders)
        for path in sorted(after):
            was, there = before.get(path), after[path]
            if was == there or (self.only_new and was is not None):
                continue
            is_new, in_packages = was is None, is_in_packages(path, roots)
            if is_harmless(path, was, there, known, repositories, named):
                if is_new and runs_in_project(path) and not in_packages and changed_since(path, self.at):
                    reported.append(path)
                continue
            if (
                is_new
                and (in_packages or not self.whole)
                and _was_out_of_sight(path, folders, known, self.at)
                and not _is_new_submodule(path, found.submodules, self.at)
            ):
                continue
            changes.append((path, was, there))
        changes += [(path, None, there) for path, there in self._came_to_be().items() if path not in after]
        accepted = os.path.join(os.fsdecode(self.home), ACCEPTED)
        left = [each for each in changes if not os.path.exists(f"{accepted}/{_digest(each[0], each[2])}")]
        return left, reported

    def _came_to_be(self) -> Mapping[str, File]:
        """The files in protected places that were not there; the programs of a new environment are the
        project's."""
        places = [place for place in map(os.fsdecode, self.absent) if not is_projects(place)]
        return {
            path: file for place in places for path, file in guarded_files.read(place, opened=self.at).items()
        }

    def _undo(self, path: str, was: File | None) -> None:
        if os.path.lexists(path):
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns()}"
            folder = os.path.join(os.fsdecode(self.home), QUARANTINE, name)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            Path(folder, "origin").write_text(f"{path}\n", encoding="utf-8", errors="surrogateescape")
            shutil.move(path, os.path.join(folder, os.path.basename(path)))
        if was is not None and was.content is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, was.content, was.mode)
        elif was is None and os.path.basename(path) == "config" and os.path.isdir(os.path.dirname(path)):
            _write(path, b"[core]\n\trepositoryformatversion = 0\n", stat.S_IFREG | 0o644)


def accept(home: str, path: str) -> None:
    """Keep a file that has just been written with an approval, also from the guards of running commands."""
    _accept(home, guarded_files.read(path))


def _accept(home: str, files: Mapping[str, File]) -> None:
    folder = Path(home, ACCEPTED)
    for path, file in files.items():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(folder, _digest(path, file)).touch(mode=0o600)


def _write(path: str, content: bytes, mode: int) -> None:
    if stat.S_ISLNK(mode):
        os.symlink(os.fsdecode(content), path)
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), stat.S_IMODE(mode))


def _digest(path: str, file: File) -> str:
    return hashlib.sha256(b"\0".join((os.fsencode(path), msgspec.json.encode(file)))).hexdigest()


def _was_out_of_sight(path: str, folders: set[str], known: set[str], moment: int) -> bool:
    """Whether a file was there before, in a folder that was not searched then.

    Of a large working folder only the nearest folders are searched, and which these are changes with every
    folder that comes or goes. No command can set the time at which an inode changed.
    """
    above = os.path.dirname(path)
    while above not in folders and above != os.path.dirname(above):
        above = os.path.dirname(above)
    return above not in known and not changed_since(path, moment)


def _is_new_submodule(path: str, submodules: Mapping[str, str], moment: int) -> bool:
    """Whether a file is in a submodule, and what names that may have changed since then."""
    naming = {git for folder, git in submodules.items() if is_inside(path, folder)}
    return any(
        changed_since(named, moment)
        for git in naming
        for named in (git, f"{git}/index", f"{git}/config", f"{git}/config.worktree")
    )
