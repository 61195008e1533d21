"""The folder of a command, and the files in its words."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote

from hermes_jobs.tools.command_rules.text_programs import files_in_program
from hermes_jobs.tools.glob_matches import Folders
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.judging_budget import Budget
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.sensitive_paths import Kind, kind_of
from hermes_jobs.tools.tables import load, words

MAX_PATH = 4096  # no longer one can be opened


@dataclass(frozen=True)
class CommandContext:
    """The session's folder and the policy for paths, with cached lookups.

    `substitutes`: the line holds a command substitution; `venv`: it activates an environment of Python.
    `is_confined`: whether a sandbox confines commands. `has_outside`: the conversation has text of others.
    """

    workdir: str
    paths: PathPolicy
    substitutes: bool = False
    venv: bool = False
    is_confined: Callable[[], bool] = field(default=lambda: True, compare=False)
    budget: Budget = field(default_factory=Budget, compare=False)
    has_outside: bool = False

    def real(self, path: str) -> str:
        """The real path, cached for a command line: it names the same folders often.

        Raises `Unparsable` when there are too many."""
        real_path = self._real.get(path)
        if real_path is None:
            self.budget.path()
            real_path = self._real[path] = os.path.realpath(path) if len(path) <= MAX_PATH else path
        return real_path

    @cached_property
    def _real(self) -> dict[str, str]:
        return {}

    @cached_property
    def home(self) -> str:
        """The real path of the home of hermes-jobs."""
        return os.path.realpath(self.paths.home)

    @cached_property
    def writable(self) -> tuple[str, ...]:
        """The folders that a command may write in: the real roots, and those for scratch files."""
        scratch = sorted(words("writes", "scratch"))
        return (*self.paths.real_roots(self.workdir), *map(os.path.realpath, scratch), *scratch)

    def kinds(self, path: str) -> tuple[Kind | None, Kind | None]:
        """The protection of a file: by its written name, and by its real path."""
        protections = self._kinds.get(path)
        if protections is None:
            self.budget.path()
            protections = (kind_of(path, self.paths.user_home), self.paths.kind(self.real(path)))
            self._kinds[path] = protections
        return protections

    def kinds_of_matches(self, path: str) -> Sequence[Kind]:
        """The protections of what links lead to among the files that a pattern stands for. Raises
        `Unparsable`."""
        kinds = self._matched.get(path)
        if kinds is None:
            found = self.folders.matching(path) or ()
            for _ in range(20, len(found), 20):
                self.budget.path()
            real = {one for match in found if (one := os.path.realpath(match)) != match}
            kinds = self._matched[path] = [
                kind for one in real if (kind := kind_of(one, self.paths.user_home)) is not None
            ]
            if any(self.paths.is_private(one) for one in real):
                kinds.append("secret")
        return kinds

    @cached_property
    def folders(self) -> Folders:
        """The folders in which its patterns are looked up."""
        return Folders(self.budget)

    @cached_property
    def _matched(self) -> dict[str, list[Kind]]:
        return {}

    def once(self, judge: Callable[[str, str], bool], path: str, user_home: str) -> bool:
        """What a function says of a path, cached. Raises `Unparsable` for too many."""
        key = (judge.__name__, path)
        if key not in self._judged:
            self.budget.path()
            self._judged[key] = judge(path, user_home)
        return self._judged[key]

    @cached_property
    def _judged(self) -> dict[tuple[str, str], bool]:
        return {}

    @cached_property
    def _kinds(self) -> dict[str, tuple[Kind | None, Kind | None]]:
        return {}

    def path_words(self, invocation: Invocation) -> list[str]:
        """The arguments and redirection targets, and their parts behind `=`, `@`, `:` or a short option.

        Also the names in the input of programs that read names there. Raises `Unparsable` for too many.
        """
        found = self._path_words.get(invocation)
        if found is None:
            found = self._path_words[invocation] = path_words(invocation)
            self.budget.words(len(found))
        return found

    @cached_property
    def _path_words(self) -> dict[Invocation, list[str]]:
        return {}


def path_words(invocation: Invocation) -> list[str]:
    """The arguments and redirection targets, and their parts behind `=`, `@`, `:` or a short option.

    Also the names in the input of programs that read names there.
    """
    results: list[str] = []
    reads_names = invocation.name in words("secrets", "name_readers")
    listed = f"{invocation.input} {invocation.echoed}".split() if reads_names else ()
    for word in (*invocation.arguments, *(redirect.target for redirect in invocation.redirects), *listed):
        results.append(word)
        results.extend(part for part in re.split(r"[=@:]|^-\w", word)[1:] if part)
        if "file" in word.lower() and (url := _FILE_URL.search(word)):
            results += [url[1], re.sub(r"\{[^{}]*\}", "*", unquote(url[1]))]
    results += _elsewhere(invocation)
    return list(dict.fromkeys((*results, *files_in_program(invocation))))


_MOST_FOLDERS = 10


def _elsewhere(invocation: Invocation) -> Iterator[str]:
    """The operands in the folders to which the program goes, one after another: `tar cf x -C .. a -C b c`."""
    changes = load("secrets")["changes_folder"].get(invocation.name)
    if changes is None:
        return
    folders, follows = [""], False
    for word in invocation.arguments:
        match = re.fullmatch(changes, word, re.DOTALL)
        if follows or (match and match["folder"]):
            folder = word if follows or match is None else match["folder"]
            folders = [os.path.join(folders[0], folder), folder, *folders][:_MOST_FOLDERS]
        elif match is None and not word.startswith("-"):
            yield from (os.path.join(folder, word) for folder in folders if folder)
        follows = match is not None and not match["folder"]


_FILE_URL = re.compile(r"(?is)fileb?://(?:localhost(?=/))?([^,]+)")


Check = Callable[[Invocation, CommandContext], bool]
"""Whether a condition that needs code holds for a command."""
