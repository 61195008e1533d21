"""Whether a command line runs what it has just fetched."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from hermes_jobs.agent.tools.arguments import values, written_paths
from hermes_jobs.agent.tools.inline_code import LANGUAGES
from hermes_jobs.agent.tools.invocations import SHELLS, Invocation
from hermes_jobs.agent.tools.roots import is_inside
from hermes_jobs.agent.tools.services import WEB
from hermes_jobs.agent.tools.word_lists import words

_UNPACKERS = frozenset(words("tar bsdtar unzip 7z gunzip bunzip2 unxz xz gzip cpio ar dpkg-deb"))
_BUILDERS = frozenset(
    words(
        """
            make cmake ninja npm yarn pnpm bun cargo go mvn gradle rake just task docker pip
            pytest tox
"""
    )
)


def runs_fetched(found: Sequence[Invocation]) -> bool:
    """Whether a program of the line runs, or is run in, what an earlier one brought from elsewhere."""
    fetched: set[str] = set()
    fetching = False
    for each in found:
        if fetched and _runs(each, fetched):
            return True
        fetching = _fetches(each) or (each.piped and fetching)
        if fetching:
            fetched |= _brought(each)
        elif _passes_on(each, fetched):
            fetched |= {path for word in written_paths(each) if (path := each.path(word))}
            if each.name in _UNPACKERS:
                fetched.add(each.folder)
    return False


def _fetches(invocation: Invocation) -> bool:
    cloned = invocation.name == "git" and "clone" in invocation.operands[:2]
    released = invocation.name == "gh" and "download" in invocation.operands[:2]
    return invocation.name in WEB or cloned or released


def _brought(invocation: Invocation) -> set[str]:
    """The paths that it writes: as named, or after the address."""
    named = written_paths(invocation)
    if invocation.name == "git":
        names = [each for each in invocation.operands if each != "clone"]
        named = names[1:2] or [
            re.sub(r"\.git$", "", os.path.basename(each.rstrip("/"))) for each in names[:1]
        ]
    elif (invocation.name == "curl" and invocation.has("-O", "--remote-name")) or (
        invocation.name in ("wget", "aria2c") and not values(invocation, "O", "--output-document")
    ):
        folder = next(iter(values(invocation, "P", "--directory-prefix", "--output-dir")), "")
        named += [
            os.path.join(folder, os.path.basename(each.partition("?")[0])) for each in invocation.operands
        ]
    paths = {path for word in named if word and (path := invocation.path(word))}
    if invocation.name in _UNPACKERS:
        paths.add(invocation.folder)
    return paths


def _passes_on(invocation: Invocation, fetched: set[str]) -> bool:
    passes = _UNPACKERS | {"cp", "mv", "install", "ln", "cat", "base64", "sed", "tr"}
    return invocation.name in passes and any(
        _is_fetched(invocation, each, fetched) for each in invocation.operands
    )


def _runs(invocation: Invocation, fetched: set[str]) -> bool:
    program = next((each for each in invocation.written if "=" not in each), "")
    if "/" in program and _is_fetched(invocation, program, fetched):
        return True
    name = re.sub(r"[\d.]+$", "", invocation.name)
    if name in LANGUAGES | SHELLS | {"source", ".", "java", "open", "xdg-open"}:
        return any(_is_fetched(invocation, each, fetched) for each in invocation.arguments)
    return name in _BUILDERS and any(is_inside(invocation.folder, each) for each in fetched)


def _is_fetched(invocation: Invocation, word: str, fetched: set[str]) -> bool:
    path = invocation.path(word)
    return path is not None and any(is_inside(path, each) for each in fetched)
