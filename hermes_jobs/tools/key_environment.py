"""The environment of a command that sees keys: nothing of the working folder is on a search path."""

# PATH is a list of texts, which pathlib would change.

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH117

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.tables import words


def key_environment(environ: Mapping[str, str], paths: PathPolicy, workdir: str) -> dict[str, str | None]:
    """Changes of the environment: no search path or option of programs leads into the session's folders."""
    inside = Inside(paths, workdir)
    changes: dict[str, str | None] = {"CDPATH": None} if "CDPATH" in environ else {}
    changes["PYTHONSAFEPATH"] = "1"  # settings may name `python3 -m`, which looks in the folder first
    for name in environ.keys() & words("interpreters", "loading_variables"):
        entries = environ[name].split(os.pathsep)
        kept = [entry for entry in entries if not inside.holds(entry)]
        if kept != entries:
            changes[name] = os.pathsep.join(kept) or None
    dropped = words("interpreters", "option_variables") | words("interpreters", "launching_variables")
    for name in environ.keys() & (dropped - words("credentials", "file_variables")):
        if inside.is_named_in(environ[name]):
            changes[name] = None
    return changes


def names_folder(environ: Mapping[str, str], paths: PathPolicy, workdir: str) -> Iterator[str]:
    """The variables by which a file of the folder would be settings, credentials or a repository."""
    inside = Inside(paths, workdir)
    named = environ.keys() & words("credentials", "file_variables")
    return (name for name in sorted(named) if inside.is_named_in(environ[name]))


def applied(environ: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """The environment with the changes."""
    changed = {**environ, **changes}
    return {name: value for name, value in changed.items() if value is not None}


class Inside:
    """Which paths lie in the session's folders, where commands may write.

    Where such a folder is the person's home, its hidden folders do not count: programs are installed there.
    """

    def __init__(self, paths: PathPolicy, workdir: str) -> None:
        self._roots = paths.real_roots(workdir)
        self._home = os.path.realpath(paths.user_home)

    def holds(self, path: str) -> bool:
        """Whether a path is relative, or in one of the folders."""
        if not os.path.isabs(path):
            return True
        real = os.path.realpath(path)
        roots = [root for root in self._roots if is_inside(real, root)]
        if not roots:
            return False
        own = os.path.relpath(real, self._home)
        return not (own.startswith(".") and own != "." and not own.startswith("..")) or any(
            len(root) > len(self._home) for root in roots
        )

    def is_named_in(self, value: str) -> bool:
        """Whether a part of a value is such a path; a word without slashes counts only as the whole of it."""
        parts = [part for part in re.split(r"[\s:;,=]+", value) if part]
        return any(
            self.holds(part) if part.startswith("/") else part[0] not in "~-@" and "/" in part
            for part in parts
        ) or value in (".", "..")
