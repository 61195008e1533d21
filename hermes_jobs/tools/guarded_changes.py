"""Which changes of guarded files a command may leave as they are."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH110, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from pathlib import Path

from hermes_jobs.tools.git_places import pointed_at
from hermes_jobs.tools.guarded_files import File
from hermes_jobs.tools.sensitive_paths import instructs, runs_in_project
from hermes_jobs.tools.tables import words

_EXEC = re.compile(rb"^\s*(?:exec|x)[ \t].*", re.MULTILINE)
"""A line in the list of a rebase that has it run a command."""


def is_harmless(
    path: str,
    was: File | None,
    there: File,
    known: set[str],
    repositories: set[str],
    named: Collection[str] = (),
) -> bool:
    """Whether a change may stay: plain settings of a repository, links to one that is guarded itself, and
    files that came with a new folder, which nobody trusts yet; git trusts each repository. `known` are the
    folders that were there, `repositories` those that are; `named`: hooks and settings that settings name."""
    folder, name = os.path.split(path)
    is_settings = name in ("config", "config.worktree") and os.path.exists(os.path.join(folder, "HEAD"))
    if path in named and name in words("sensitive_paths", "hooks"):
        return False
    if is_settings or path in named:
        from hermes_jobs.tools.git_settings import adds_only_harmless

        return (
            stat.S_ISREG(there.mode)
            and there.content is not None
            and adds_only_harmless(was.content if was is not None else None, there.content, folder)
        )
    if folder in {f"{repository}/rebase-merge" for repository in repositories} and name[0] != ".":
        return name != "git-rebase-todo" or _runs_nothing_new(was, there)
    if name == "commondir" and os.path.basename(os.path.dirname(folder)) == "worktrees":
        return there.content == b"../..\n"
    if name == ".git" and stat.S_ISREG(there.mode):  # of a submodule or a linked worktree
        target = pointed_at(there.content or b"")
        return (
            target == target.strip()
            and os.path.realpath(os.path.join(folder, target)) in known | repositories
        )
    if ".git" in path.split("/") or not repositories.isdisjoint(map(str, Path(path).parents)):
        return False
    known_name = runs_in_project(path) or instructs(path)
    return was is None and (path[: known_name.start()] if known_name else folder) not in known


def _runs_nothing_new(was: File | None, there: File) -> bool:
    """Whether the list of a rebase has only those commands that it had."""
    if there.content is None or not stat.S_ISREG(there.mode):
        return False
    old = was.content if was is not None else None
    return set(_EXEC.findall(there.content)) <= set(_EXEC.findall(old or b""))
