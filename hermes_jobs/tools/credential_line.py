"""What the checks of keys look at and say: a command line, and a finding on one of its programs."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

from hermes_jobs.text.clip import clip
from hermes_jobs.tools import git_changes
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.git_places import (
    alternates,
    bare,
    common_folder,
    git_folder,
    repository_above,
    submodules,
)
from hermes_jobs.tools.git_program import Git, Unreadable
from hermes_jobs.tools.glob_matches import Folders, TooManyEntries, entries_below, link_to_keys
from hermes_jobs.tools.inside import real_path_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.judging_budget import Budget
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.repositories import Repository, examine
from hermes_jobs.tools.tables import load, words

MAX_EMBEDDED = 64  # repositories in the index of another one
MAX_ALTERNATES = 64  # repositories from which another one takes objects


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The places that a program needs, what of the folder would see them, and why it must not see them."""

    places: Sequence[str]
    code: tuple[str, ...] = ()
    withheld: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)


def ways(path: str) -> list[str]:
    """Where a path leads: `..` behind a link leads elsewhere for programs, and for a shell with `set -P`."""
    plain, real = os.path.normpath(path), os.path.realpath(path)
    return [plain] if real == os.path.realpath(plain) else [plain, real]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A command line: its programs, the folders in which they may run, and their variables."""

    invocations: Sequence[Invocation]
    folders: Sequence[str]
    environ: Mapping[str, str]
    paths: PathPolicy
    workdir: str
    git: Git
    budget: Budget = field(default_factory=Budget, compare=False)

    @cached_property
    def files(self) -> Folders:
        """The folders in which its patterns are looked up."""
        return Folders(self.budget)

    def linked(self, places: Iterable[str], *, through: bool = False) -> tuple[str, ...]:
        """The links at and below these places that lead to keys, through which a program may read them.

        `through`: it goes through links to folders, too."""
        found = ((place, link_to_keys(place, self.paths, linked=through)) for place in places)
        return tuple(f"{os.path.relpath(place, self.workdir)}: {link}" for place, link in found if link)

    @cached_property
    def _linked_in_git(self) -> tuple[str, ...]:
        """Those of the repositories, and of others from which they take objects: git prints what it cannot
        read."""
        stores = list(islice(chain.from_iterable(map(alternates, self._git_folders)), MAX_ALTERNATES + 1))
        if len(stores) > MAX_ALTERNATES:
            return ("objects of too many other repositories",)
        return self.linked(dict.fromkeys((*self._git_folders, *stores)), through=True)

    @cached_property
    def _git_folders(self) -> Sequence[str]:
        """Those of the repositories that its verbs may use, also bare ones. Raises `Unreadable`."""
        tops = (top for folder in self.git_runs_in for top in (Path(folder), *Path(folder).parents))
        found = [
            git for folder in (*map(str, tops), *self._embedded) for git in (git_folder(folder), bare(folder))
        ]
        return tuple(dict.fromkeys(filter(None, (*found, *map(common_folder, filter(None, found))))))

    def link_out_of_repository(self) -> str:
        """A link in a repository through which git writes elsewhere; empty without one.

        Raises `Unreadable`."""
        try:
            for folder in self._git_folders:
                for entry in entries_below(folder):
                    roots = (self.workdir, folder)
                    if entry.is_symlink() and not any(real_path_inside(entry.path, root) for root in roots):
                        return f"{os.path.relpath(entry.path, self.workdir)} leads elsewhere"
        except TooManyEntries as error:
            return str(error)
        return ""

    @cached_property
    def _embedded(self) -> Sequence[str]:
        """The repositories in others that its verbs look at: those in an index, also without `.gitmodules`,
        and those that it adds. Raises `Unreadable`."""
        if self.verbs and set(self.verbs) <= words("credentials", "keep_out"):
            return ()
        tops = [(top, git) for folder in self.git_runs_in for top, git in [repository_above(folder)] if git]
        # Where git may run something that is named anyway, and git is not asked to list.
        is_safe = "add" in self.verbs and not any(one.code("") for one in self.repositories)
        added = [path for top, _ in tops for path in self._untracked(top)] if is_safe else []
        found = submodules([*tops, *((path, git_folder(path)) for path in added)])
        return tuple(dict.fromkeys((*added, *(folder for folder, _ in found))))

    def _untracked(self, top: str) -> Iterator[str]:
        """The repositories in the folder of another one that are not in its index. Raises `Unreadable`."""
        listing = ("-c", "core.fsmonitor=false", "ls-files", "--others", "--exclude-standard", "-z")
        names = self.git.ask(top, *listing).split("\0")
        return (os.path.join(top, name[:-1]) for name in names if name.endswith("/"))

    def _code_of_embedded(self) -> Iterator[str]:
        """What git would run of these."""
        if len(self._embedded) > MAX_EMBEDDED:
            yield "too many submodules"
            return
        for folder in self._embedded:
            named = os.path.relpath(folder, self.workdir)
            try:
                found = examine(folder, self.git, self.paths, self.workdir).code(self.hooks)
            except Unreadable:
                found = ("a repository that cannot be checked",)
            yield from (f"{one} ({named})" for one in found)

    @cached_property
    def verbs(self) -> tuple[str, ...]:
        """The verbs of git in it."""
        return tuple(
            git.split_verb(invocation)[0].name for invocation in self.invocations if invocation.name == "git"
        )

    @cached_property
    def hooks(self) -> str | None:
        """The names of hooks that its verbs of git run; None for all."""
        table: Mapping[str, str] = load("credentials")["git"]["hooks"]
        return (
            " ".join(table[verb] for verb in self.verbs)
            if all(verb in table for verb in self.verbs)
            else None
        )

    @cached_property
    def added_remotes(self) -> Mapping[str, str]:
        """The addresses that the line itself adds, by the names of their remotes."""
        verbs = (git.split_verb(one)[0] for one in self.invocations if one.name == "git")
        return {verb.arguments[1]: verb.arguments[2] for verb in verbs if git_changes.adds_plain_remote(verb)}

    @cached_property
    def repositories(self) -> Sequence[Repository]:
        """What git would find, in each folder in which it may run. Raises `Unreadable`."""
        return [examine(folder, self.git, self.paths, self.workdir) for folder in self.git_runs_in]

    @cached_property
    def git_runs_in(self) -> Sequence[str]:
        """The folders in which git may run, with those of `-C`."""
        chains = [git.split_verb(one)[2] for one in self.invocations if one.name == "git"] or [[]]
        joined = (os.path.join(folder, *chain) for folder in self.folders for chain in chains)
        return tuple(dict.fromkeys(way for path in joined for way in ways(path)))

    def finding(self, places: Sequence[str], hooks: str | None, code: Sequence[str] = ()) -> Finding:
        """A finding on git's settings and hooks in its folders."""
        try:
            found = [one for repository in self.repositories for one in repository.code(hooks)]
            found += [*self._code_of_embedded(), *self._linked_in_git]
            guards = self.repositories[0].guards(self.environ)
        except Unreadable as error:
            return Finding(
                places=places, code=(f"a repository that cannot be checked ({clip(str(error), 80)})",)
            )
        return Finding(places=places, code=tuple(dict.fromkeys((*code, *found))), guards=guards)
