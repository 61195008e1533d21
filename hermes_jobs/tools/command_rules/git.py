"""Checks on git commands: settings that name a program, and what they take from elsewhere."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH113, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.tables import pattern, words

_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env")

_PLAIN_ALIAS = re.compile(
    r"(?:status|log|diff|show|branch|checkout|switch|commit|add|restore|reset|stash|blame|shortlog)"
    r"(?: (?!-c\b|--(?:ext-diff|exec|open|config))[\w%@:=./'-]+)*"
)
_QUIET_VALUE = re.compile(r"(?:cat|less|more|true|:|)$")


def split_verb(invocation: Invocation) -> tuple[Invocation, list[str], list[str]]:
    """The verb as a program of its own with its arguments, the settings of `-c`, the folders of `-C`."""
    rest = list(invocation.arguments)
    settings: list[str] = []
    folders: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, equals, value = option.partition("=")
        if option in _VALUED and rest:
            value = rest.pop(0)
        elif not equals:
            continue
        if name in ("-c", "--config-env"):
            settings.append(value)
        elif name in ("-C", "--git-dir", "--work-tree"):
            folders.append(value)
    verb = rest[0] if rest else ""
    return replace(invocation, name=verb, arguments=tuple(rest[1:])), settings, folders


def git_sets_program(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether one of the settings given with `-c` names a program for git to run, or a file elsewhere."""
    return any(map(_sets_program, split_verb(invocation)[1]))


def _sets_program(setting: str) -> bool:
    key, _, value = setting.partition("=")
    if pattern("credentials", "file_settings").fullmatch(key):
        return pattern("credentials", "harmless_files").fullmatch(value) is None
    if pattern("interpreters", "harmless_git_settings").match(key):
        return False
    if key.startswith("alias.") and _PLAIN_ALIAS.fullmatch(value):
        return False
    return not (key.endswith("pager") and _QUIET_VALUE.match(value))


def git_in_scratch(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it works in a folder for scratch files, where anybody may write, outside the session's."""
    folders = (invocation.path(folder) for folder in split_verb(invocation)[2])
    places = (context.real(folder) for folder in folders if folder is not None)
    roots = context.paths.real_roots(context.workdir)
    return any(
        any(is_inside(place, scratch) for scratch in words("outside_code", "scratch"))
        and not any(is_inside(place, root) for root in roots)
        for place in places
    )


def git_configures_program(verb: Invocation, _context: CommandContext) -> bool:
    """Whether `git config` changes a setting that names a program, or settings beyond the repository's."""
    reads = ("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin")
    if verb.has(*reads) or verb.operands[:1] in (("get",), ("list",)):
        return False
    if verb.has("--global", "--system", "-e", "--edit", "-f", "--file"):
        return len(verb.operands) > 1 or verb.has("-e", "--edit", "--unset", "--add", "--replace-all")
    setting = verb.operands[1:] if verb.operands[:1] in (("set",), ("unset",)) else verb.operands
    return len(setting) > 1 and _sets_program("=".join(setting[:2]))


def git_clones_with_program(verb: Invocation, _context: CommandContext) -> bool:
    """Whether `git clone` writes such a setting into the new repository."""
    return any(map(_sets_program, values(verb, "c", "--config")))


def pushes_elsewhere(invocations: Sequence[Invocation]) -> bool:
    """Whether a line names a new repository elsewhere, and pushes."""
    verbs = [split_verb(invocation)[0] for invocation in invocations if invocation.name == "git"]
    adds = any(invocation.name == "remote" and invocation.operands[:1] == ("add",) for invocation in verbs)
    return adds and any(invocation.name == "push" for invocation in verbs)


def takes_old_files(verb: Invocation, context: CommandContext) -> bool:
    """Whether it takes named files, not folders, from a revision that it names: an edit like any other."""
    before, mark, files = _around(verb.arguments, "--")
    if verb.name == "git-restore":
        operands = verb.operands
        sources = values(verb, "s", "--source")
        names = [word for word in operands if word not in sources]
        revisions = sources
    else:
        revisions, names = [word for word in before if not word.startswith("-")], list(files)
    return bool(
        (mark or verb.name == "git-restore")
        and len(revisions) == 1
        and names
        and all(_is_one_file(name, verb, context) for name in names)
    )


def _around(arguments: Sequence[str], mark: str) -> tuple[Sequence[str], bool, Sequence[str]]:
    if mark not in arguments:
        return arguments, False, ()
    index = arguments.index(mark)
    return arguments[:index], True, arguments[index + 1 :]


def _is_one_file(name: str, verb: Invocation, context: CommandContext) -> bool:
    path = verb.path(name)
    return (
        path is not None and re.search(r"[*?\[:]", name) is None and context.once(_looks_like_file, path, "")
    )


def _looks_like_file(path: str, _user_home: str) -> bool:
    return os.path.isfile(path) or ("." in os.path.basename(path)[1:] and not os.path.isdir(path))


CHECKS = (
    git_sets_program,
    git_in_scratch,
    git_configures_program,
    git_clones_with_program,
    takes_old_files,
)
