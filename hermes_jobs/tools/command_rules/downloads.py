"""A check of a complete command line: whether it runs a file that it has just fetched."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from hermes_jobs.tools.command_rules.outside_code import up_to_script
from hermes_jobs.tools.command_rules.written_paths import values, written_paths
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import SHELLS, Invocation, without_version
from hermes_jobs.tools.tables import load, words


def runs_fetched(invocations: Sequence[Invocation]) -> bool:
    """Whether a program of the line runs, or runs in, a path that an earlier one has fetched."""
    fetched: set[str] = set()
    fetching = False
    for invocation in invocations:
        if fetched and _runs(invocation, fetched):
            return True
        fetching = _fetches(invocation) or (invocation.piped and fetching)
        if fetching:
            fetched |= _downloaded_paths(invocation)
        elif _passes_on(invocation, fetched):
            fetched |= {path for word in written_paths(invocation) if (path := invocation.path(word))}
            if invocation.name in _unpackers():
                fetched.add(invocation.folder)
    return False


def _unpackers() -> frozenset[str]:
    return words("downloads", "unpackers")


def _fetches(invocation: Invocation) -> bool:
    cloned = invocation.name == "git" and "clone" in invocation.operands[:2]
    released = invocation.name == "gh" and {"download", "clone"}.intersection(invocation.operands[:2])
    return invocation.name in words("network", "web") or cloned or bool(released) or _decodes(invocation)


def _decodes(invocation: Invocation) -> bool:
    """Whether it decodes text that could not be reviewed before."""
    options = load("downloads")["decoders"].get(invocation.name)
    return options is not None and invocation.has(*options.split())


def _downloaded_paths(invocation: Invocation) -> set[str]:
    """The paths that it writes: named, or derived from the address."""
    fetched = written_paths(invocation)
    if invocation.name in ("git", "gh"):
        names = [operand for operand in invocation.operands if operand not in ("clone", "repo")]
        index = next((i for i, name in enumerate(names) if "/" in name), 0)  # behind the values of options
        fetched = names[index + 1 : index + 2] or [
            re.sub(r"\.git$", "", os.path.basename(name.rstrip("/"))) for name in names[index : index + 1]
        ]
    elif (invocation.name == "curl" and invocation.has("-O", "--remote-name")) or (
        invocation.name in ("wget", "aria2c") and not values(invocation, "O", "--output-document")
    ):
        folder = next(iter(values(invocation, "P", "--directory-prefix", "--output-dir")), "")
        fetched += [
            os.path.join(folder, os.path.basename(operand.partition("?")[0]))
            for operand in invocation.operands
        ]
    paths = {path for word in fetched if word and (path := invocation.path(word))}
    if invocation.name in _unpackers():
        paths.add(invocation.folder)
    return paths


def _passes_on(invocation: Invocation, fetched: set[str]) -> bool:
    passes = _unpackers() | words("downloads", "copiers")
    return invocation.name in passes and any(
        _is_fetched(invocation, operand, fetched) for operand in invocation.operands
    )


def _runs(invocation: Invocation, fetched: set[str]) -> bool:
    if "/" in invocation.program and _is_fetched(invocation, invocation.program, fetched):
        return True
    name = without_version(invocation.name)
    if name in words("interpreters", "languages") | SHELLS | words("downloads", "openers"):
        read = [redirect.target for redirect in invocation.redirects if redirect.operator == "<"]
        words_named = (
            up_to_script(invocation) if not invocation.has("-m", "-c", "-e") else invocation.arguments
        )
        options = [argument for argument in invocation.arguments if argument.startswith("-")]
        return any(_is_fetched(invocation, word, fetched) for word in (*words_named, *options, *read))
    if name not in words("downloads", "builders"):
        return False
    build_files = words("downloads", "build_files")
    return any(
        is_inside(invocation.folder, source)
        or (os.path.basename(source) in build_files and is_inside(source, invocation.folder))
        for source in fetched
    ) or any(_is_fetched(invocation, argument, fetched) for argument in invocation.arguments)


def _is_fetched(invocation: Invocation, word: str, fetched: set[str]) -> bool:
    path = invocation.path(word)
    return path is not None and any(is_inside(path, source) for source in fetched)
