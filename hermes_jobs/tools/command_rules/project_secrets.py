"""A check on keys beside the code: whether a command prints them, or gives them another name."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.network import is_this_machine
from hermes_jobs.tools.command_rules.paths import kinds_of
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.glob_matches import GLOB, fits
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.sensitive_paths import is_project_secret
from hermes_jobs.tools.tables import pattern, words


def prints_project_secrets(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it prints a file of the project with keys or passwords, as `cat .env` does; or copies one so
    that its name says so no longer."""
    name = invocation.name
    if name in ("cp", "mv", "ln", "install"):
        return _hides_name(invocation, context)
    if name in ("", "read", "exec", "mapfile", "readarray"):
        read = [redirect.target for redirect in invocation.redirects if redirect.operator in ("<", "<>")]
        return _has_secret(invocation, context, read)  # as in `$(<.env)`
    if name not in words("secrets", "printers"):
        return False
    if name in ("sed", "gsed", "perl") and invocation.has("-i", "--in-place"):
        return False
    searched: tuple[str, ...] = ()
    if name in words("secrets", "finders"):
        searched = invocation.operands[:1]
        finds_all = not invocation.has("-v") and any(map(_FINDS_ALL.search, searched))
        if not (finds_all or any(map(pattern("secrets", "names_of_keys").search, searched))):
            return False  # as in `export $(grep -v '^#' .env)`
    elif name in words("interpreters", "awks") | words("interpreters", "seds"):
        searched = invocation.operands[:1]
    if any(map(pattern("secrets", "names_of_keys").search, searched)) and _names_startup(invocation, context):
        return True  # keys that a startup file of the home sets
    if name in _FINDERS and _EXECS.isdisjoint(invocation.arguments):
        return False
    named = [word for word in context.path_words(invocation) if word not in searched]
    if name in ("fd", "fdfind"):
        named += [re.sub(r"[\\^$]", "", word) for word in invocation.operands]
        named += [f"x.{ending}" for ending in values(invocation, "e", "--extension")]
    return _has_secret(invocation, context, named)


_FINDS_ALL = re.compile(r"\.[*+]|^[\W_]*$")
"""A pattern that fits most lines."""
_FINDERS = ("find", "fd", "fdfind")
_EXECS = frozenset({"-exec", "-execdir", "-x", "-X", "--exec", "--exec-batch"})


def _names_startup(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an operand is a startup file outside the session's folders."""
    roots = context.paths.real_roots(context.workdir)
    named = [
        word
        for word in invocation.operands[1:]
        if (path := invocation.path(word)) and not any(is_inside(path, root) for root in roots)
    ]
    return "startup" in kinds_of(invocation, context, named)


def _has_secret(invocation: Invocation, context: CommandContext, named: list[str]) -> bool:
    found = [*(word.replace("*", "") for word in named), *_matched(invocation, context, named)]
    return "project secret" in kinds_of(invocation, context, found)


def _matched(invocation: Invocation, context: CommandContext, named: list[str]) -> Iterator[str]:
    """The files with such a name that patterns among the words stand for, each in one folder."""
    secrets: dict[str, list[str]] = {}
    for word in filter(GLOB.search, named):
        folder, last = os.path.split(invocation.path(word) or "")
        if not folder or GLOB.search(folder):
            continue
        if folder not in secrets:
            secrets[folder] = list(filter(is_project_secret, context.folders.names(folder)))
        yield from (
            os.path.join(folder, name)
            for name in secrets[folder]
            if fits(name, last) and (name[0] != "." or last[0] == ".")
        )


def _hides_name(invocation: Invocation, context: CommandContext) -> bool:
    *sources, target = invocation.operands or ("",)
    if not _has_secret(invocation, context, sources):
        return False
    path = invocation.path(target)
    if path is None or target.endswith(("/", ".")) or os.path.isdir(context.real(path)):
        return False  # under its own name
    return "project secret" not in kinds_of(invocation, context, [target])


def prints_environment(invocations: Sequence[Invocation], context: CommandContext) -> bool:
    """Whether a line prints all variables after it, or a runner of it, took some from a file with keys."""
    has_keys = False
    for invocation in invocations:
        if has_keys and _prints_variables(invocation):
            return True
        has_keys = (
            has_keys
            or invocation.name in words("secrets", "runners_with_keys")
            or (
                invocation.name in words("secrets", "takers_of_variables")
                and _has_secret(invocation, context, context.path_words(invocation))
            )
        )
    return False


def looks_for_keys(invocations: Sequence[Invocation], context: CommandContext) -> bool:
    """Whether what a service or a history shows is searched for keys: `helm get values x | grep password`."""
    shows = False
    for invocation in invocations:
        if invocation.name in words("secrets", "pickers"):
            named = any(map(pattern("secrets", "named_keys").search, invocation.operands[:1]))
            if named and shows and invocation.piped:
                return True
        asks = invocation.name in words("network", "web") and not is_this_machine(invocation, context)
        shows = invocation.name in _services() or asks or (shows and invocation.piped)
    return False


@cache
def _services() -> frozenset[str]:
    return words("services", "controllers") | words("secrets", "shows_settings")


def _prints_variables(invocation: Invocation) -> bool:
    if invocation.name == "printenv":
        return True
    return invocation.name in _PRINT_VARIABLES and all(
        word.startswith("-") and "o" not in word and "a" not in word for word in invocation.arguments
    )


_PRINT_VARIABLES = ("env", "set", "export", "declare", "typeset", "readonly")


CHECKS = (prints_project_secrets,)
