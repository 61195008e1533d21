"""What a rule for commands is, and which files a program names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hermes_jobs.agent.tools.invocations import Invocation
from hermes_jobs.agent.tools.places import Kind, kind_of
from hermes_jobs.agent.tools.roots import Roots

SCRATCH = ("/tmp", "/var/tmp", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/dev/shm")


@dataclass(frozen=True)
class Place:
    """Where a command runs: the session's folder, and the roots with the user's home and hermes-jobs' own.

    `substitutes`: the line holds a command substitution; `venv`: it activates an environment of Python.
    """

    workdir: str
    roots: Roots
    substitutes: bool = False
    venv: bool = False

    def real(self, path: str) -> str:
        """The real path, looked up once in the life of this value: a line names the same folders often."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = os.path.realpath(path)
        return known

    @cached_property
    def _known(self) -> dict[str, str]:
        return {}

    @cached_property
    def home(self) -> str:
        """The real path of the home of hermes-jobs."""
        return os.path.realpath(self.roots.home)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The real paths of the folders that a command may write in: the roots, and those for scratch."""
        scratch = (os.path.realpath(each) for each in SCRATCH)
        return (*self.roots.real_roots(self.workdir), *scratch, *SCRATCH)

    def kinds(self, path: str) -> tuple[Kind | None, Kind | None]:
        """What the file is of what is the person's own: by its name as it is written, and as it is."""
        found = self._kinds.get(path)
        if found is None:
            found = (kind_of(path, self.roots.user_home), self.roots.kind(self.real(path)))
            self._kinds[path] = found
        return found

    @cached_property
    def _kinds(self) -> dict[str, tuple[Kind | None, Kind | None]]:
        return {}


@dataclass(frozen=True)
class Rule:
    """`name` says what is forbidden or dangerous, in words for the user."""

    name: str
    matches: Callable[[Invocation, Place], bool]


def first_match(rules: Sequence[Rule], invocation: Invocation, place: Place) -> Rule | None:
    """The first rule that an invocation meets."""
    return next((rule for rule in rules if rule.matches(invocation, place)), None)


DELETERS = frozenset({"rm", "unlink", "shred", "srm"})
LISTERS = frozenset(
    {"cd", "echo", "ls", "mkdir", "printf", "pushd", "pwd", "stat", "test", "[", "du", "realpath"}
)
"""Programs that name files without opening them."""


def path_words(invocation: Invocation) -> list[str]:
    """The arguments and redirection targets, and their parts behind `=`, `@`, `:` or a short option."""
    found: list[str] = []
    for word in (*invocation.arguments, *(each.target for each in invocation.redirects)):
        found.append(word)
        found.extend(part for part in re.split(r"[=@:]|^-\w", word)[1:] if part)
    return list(dict.fromkeys(found))
