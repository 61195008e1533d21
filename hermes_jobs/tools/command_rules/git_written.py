"""The files and folders that a git command names to write.

Sources: the manual pages of the commands, such as git-checkout-index(1).
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hermes_jobs.tools.command_rules.git import split_verb
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.sensitive_paths import guarded_names
from hermes_jobs.tools.tables import load, words

_IN_REPOSITORY = (".git/hooks/pre-commit", ".git/config")


def written_by_git(invocation: Invocation) -> list[str]:
    """The words of a git command with files and folders that it writes, in the folder where it starts."""
    if invocation.name != "git":
        return []
    verb, _settings, folders = split_verb(invocation)
    before = invocation.arguments[: len(invocation.arguments) - len(verb.arguments)]
    start = os.path.join("", *(folder for option, folder in pairwise(before) if option == "-C"))
    verb = replace(verb, folder=verb.path(start) or verb.folder)
    options = _options("git_written_options", verb)
    found = values(
        verb,
        "".join(option[1] for option in options if not option.startswith("--")),
        *(option for option in options if option.startswith("--")),
    )
    find = _FINDERS.get(verb.name)
    found += find(verb, _operands(verb)) if find is not None else ()
    changed = () if verb.name in words("writes", "git_readers") else folders
    return [*changed, *(os.path.join(start, word) for word in found)]


def _options(table: str, verb: Invocation) -> list[str]:
    """The options of a verb in a table of `data/writes.toml`."""
    rows = load("writes")[table].items()
    return [option for verbs, text in rows if f"git-{verb.name}" in verbs.split() for option in text.split()]


def _operands(verb: Invocation) -> Sequence[str]:
    """The operands without the values of options."""
    valued = {*_options("git_valued", verb), *_options("git_written_options", verb)}
    rest = iter(verb.arguments)
    found: list[str] = []
    for word in rest:
        if word in valued:
            next(rest, None)
        elif not word.startswith("-"):
            found.append(word)
    return found


def _checked_out(verb: Invocation, names: Sequence[str]) -> Sequence[str]:
    """The files of `git checkout-index`, whose prefix counts from the top of the work tree."""
    prefix = "".join(values(verb, "", "--prefix")[-1:])
    top = _top(verb.folder)
    below = os.path.relpath(verb.folder, top)
    found = [prefix + os.path.normpath(os.path.join(below, name)) for name in names]
    if verb.given or verb.has("-a", "--all", "--stdin"):
        found += [prefix, *_may_become(prefix)] if prefix else []
    return [os.path.join(top, name) for name in found]


def _top(folder: str) -> str:
    """The work tree in which a folder lies; the folder itself where there is none."""
    above = (folder, *map(str, Path(folder).parents))
    return next((each for each in above if os.path.lexists(os.path.join(each, ".git"))), folder)


def _may_become(prefix: str) -> Iterator[str]:
    """What a prefix is with names that make it a file that runs by itself: `.v` is `.vscode/tasks.json`."""
    parts = prefix.split("/")
    for tail in filter(None, ("/".join(parts[at:]) for at in range(len(parts)))):
        for name in (*guarded_names(), *_IN_REPOSITORY):
            if name.startswith(tail):
                yield prefix.removesuffix(tail) + name


def _worktree(_verb: Invocation, operands: Sequence[str]) -> Sequence[str]:
    return {"add": operands[1:2], "move": operands[2:3]}.get(next(iter(operands), ""), ())


def _cloned(_verb: Invocation, operands: Sequence[str]) -> Sequence[str]:
    """The folder of `git svn clone URL FOLDER` and `git p4 clone //DEPOT FOLDER`."""
    return operands[2:3] if operands[:1] in (["clone"], ["init"]) else ()


def _unless(*options: str) -> Callable[[Invocation, Sequence[str]], Sequence[str]]:
    """The first operand, unless the result is printed."""
    return lambda verb, operands: () if verb.has(*options) else operands[:1]


_FINDERS: Mapping[str, Callable[[Invocation, Sequence[str]], Sequence[str]]] = {
    "bundle": lambda _verb, operands: operands[1:2] if operands[:1] == ["create"] else (),
    "checkout-index": _checked_out,
    "clone": lambda _verb, operands: operands[1:2],
    "fast-import": lambda verb, _operands: ["/"] if verb.has("--allow-unsafe-features") else (),
    "init": lambda _verb, operands: operands[:1],
    "interpret-trailers": lambda verb, operands: operands if verb.has("--in-place") else (),
    "mailinfo": lambda _verb, operands: operands[:2],
    "merge-file": _unless("-p", "--stdout"),
    "mv": lambda _verb, operands: operands[-1:],
    "p4": _cloned,
    "pack-objects": _unless("--stdout"),
    "svn": _cloned,
    "worktree": _worktree,
}
"""By verb, which of its operands it writes."""
