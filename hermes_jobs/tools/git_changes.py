"""What a line with keys may change: files that git does not obey, plain settings, and new remotes."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH113, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from hermes_jobs.tools.command_rules.git import split_verb
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.repositories import Repository, Setting
from hermes_jobs.tools.tables import words

_NOWHERE = re.compile(r"/dev/null|\d|-")
_OF_REPOSITORIES = frozenset({"config", "config.worktree", "head", "commondir", "gitdir", "alternates"})


def written_files(invocation: Invocation) -> list[str]:
    """The targets of redirections that write a file."""
    return [
        one.target
        for one in invocation.redirects
        if ">" in one.operator and not _NOWHERE.fullmatch(one.target)
    ]


def writes_plain_files(
    invocation: Invocation, paths: PathPolicy, workdir: str, repositories: Sequence[Repository]
) -> bool:
    """Whether its redirections write only files of the session's folders that git does not obey."""
    read = {os.path.basename(path) for repository in repositories for path in _settings_files(repository)}
    return all(
        (path := invocation.path(word)) is not None
        and os.path.basename(path) not in read
        and os.path.basename(real := os.path.realpath(path)) not in read
        and _is_plain(real, paths, workdir)
        for word in written_files(invocation)
    )


def _settings_files(repository: Repository) -> Iterator[str]:
    """The files with settings of git, and those that settings include."""
    for setting in repository.settings:
        yield from (setting.file, os.path.realpath(setting.file)) if setting.file else ()
        if setting.key.startswith("include") and setting.key.endswith(".path"):
            yield setting.value


def _is_plain(real: str, paths: PathPolicy, workdir: str) -> bool:
    """Whether a real path is that of an ordinary file, or of none yet, and no part of a repository."""
    parts = real.lower().split("/")
    if not any(is_inside(real, root) for root in paths.real_roots(workdir)) or paths.kind(real) is not None:
        return False
    if parts[-1] in _OF_REPOSITORIES or not {".git", ".gitmodules"}.isdisjoint(parts):
        return False
    folder = os.path.dirname(real)
    while folder != os.path.dirname(folder):
        if os.path.lexists(os.path.join(folder, "HEAD")):  # a bare repository
            return False
        folder = os.path.dirname(folder)
    return not os.path.lexists(real) or (os.path.isfile(real) and os.lstat(real).st_nlink == 1)


def changes_plain_settings(verb: Invocation) -> bool:
    """Whether `git config` sets one of the settings that neither name a program nor an address."""
    setting = verb.arguments[1:] if verb.arguments[:1] in (("--local",), ("set",)) else verb.arguments
    if len(setting) != 2 or any(word.startswith("-") for word in setting):
        return False
    key = setting[0].lower()
    return key.partition(".")[0] in words("credentials", "plain_sections") and (
        Setting(key, setting[1], own=False).is_harmless
    )


def adds_plain_remote(verb: Invocation) -> bool:
    """Whether it is `git remote add NAME ADDRESS`, with an address that runs no program."""
    if verb.name != "remote" or len(verb.arguments) != 3 or verb.arguments[0] != "add":
        return False
    name, address = verb.arguments[1:]
    plain = not (name.startswith("-") or address.startswith("-"))
    return plain and Setting(f"remote.{name}.url", address, own=False).is_harmless


def changes_only_plainly(invocation: Invocation) -> bool:
    """Whether a command of git changes settings or addresses, and nothing that it would run or obey."""
    verb, settings, folders = split_verb(invocation)
    before = invocation.arguments[: len(invocation.arguments) - len(verb.arguments) - 1]
    if settings or folders or before:
        return False
    return adds_plain_remote(verb) or (verb.name == "config" and changes_plain_settings(verb))
