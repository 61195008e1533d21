"""What programs with keys would run, or obey, of the working folder: the checks of `credentials.toml`."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from getopt import GetoptError
from itertools import islice

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.text.clip import clip
from hermes_jobs.tools import npm_packages
from hermes_jobs.tools.command_rules.servers import may_reach_this_machine, names_of_this_machine
from hermes_jobs.tools.credential_checks_git import asks_git, signs, submodules, transfers
from hermes_jobs.tools.credential_line import Finding, Line
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.process_paths import differs_by_process
from hermes_jobs.tools.tables import load, pattern, words

MAX_SETTINGS_BYTES = 64_000


def _upward(line: Line, name: str) -> Iterator[str]:
    """The files of that name in the folders and above them, without the person's own."""
    for folder in line.folders:
        at = os.path.realpath(folder)
        while True:
            path = os.path.join(at, name)
            if os.path.lexists(path) and os.path.realpath(at) != os.path.realpath(line.paths.user_home):
                yield path
            if at == os.path.dirname(at):
                break
            at = os.path.dirname(at)


_LOCAL_SETTINGS = {"az": ".azure/config", "glab": ".git/glab-cli/config.yml"}


def local_settings(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """The settings of `az` or `glab` in a folder, which may name a source of extensions or another server."""
    return Finding(places=places, code=tuple(_upward(line, _LOCAL_SETTINGS[invocation.name])))


_OF_PROJECT = frozenset(("install", "ci", "i", "add", "update", "outdated"))
"""Verbs of npm that look at what the project needs."""


def npm_settings(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """Settings of npm in the folders that may name programs or another server, and packages from git."""
    verb, *named = invocation.operands or ("",)
    code = _named_links(line)
    for folder in {*line.folders, *map(os.path.dirname, _upward(line, "package.json"))}:
        code += npm_packages.from_git(folder, named, project=verb in _OF_PROJECT)
    for path in _upward(line, ".npmrc"):
        if line.paths.kind(os.path.realpath(path)) == "secret":
            code.append(".npmrc, a link to a key")
            continue
        try:
            text = beginning(path, MAX_SETTINGS_BYTES + 1)
        except (OSError, ValueError):
            code.append(path)
            continue
        keys = [
            line_.partition("=")[0].strip()
            for line_ in text.splitlines()
            if line_.strip()[:1] not in ("", "#", ";")
        ]
        harmless = pattern("credentials", "harmless_npm")
        other = (key if _NAME.fullmatch(key) else "a line" for key in keys if not harmless.fullmatch(key))
        code += [f"{key} in .npmrc" for key in other]
        if len(text) > MAX_SETTINGS_BYTES:
            code.append(path)
    named_code = tuple(dict.fromkeys(clip(one, 80) for one in code))
    return Finding(places=places, code=named_code, guards=npm_packages.SWITCHED_OFF)


_NAME = re.compile(r"[\w@/:.\[\]-]{1,60}")
_READ_BY_NAME = ("package.json", "Dockerfile", "Containerfile")
"""Files that npm and docker read without being told to, and print parts of."""


def _named_links(line: Line) -> list[str]:
    """Those that are links to keys."""
    found = ((name, os.path.realpath(path)) for name in _READ_BY_NAME for path in _upward(line, name))
    return [f"{name}, a link to {real}" for name, real in found if line.paths.kind(real) == "secret"]


def chosen_version(line: Line) -> str:
    """What in the folders chooses the version of a program, and is a key or leads to code; empty if nothing.

    Programs of version managers (pyenv, asdf and the like) read it, and print what they cannot use."""
    for path in (path for name in words("credentials", "version_files") for path in _upward(line, name)):
        name = os.path.basename(path)
        if line.paths.kind(os.path.realpath(path)) == "secret" or differs_by_process(path):
            return f"{name} is a link to a key"
        with suppress(OSError, ValueError):
            if re.search(r"\b(?:path|ref):", beginning(path, MAX_SETTINGS_BYTES)):
                return f"{name} names programs of a folder"
    return ""


def reads_chart(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What helm reads of a chart, whatever it is named there."""
    named = (invocation.path(word) for word in invocation.operands)
    charts = [path for path in named if path and os.path.isdir(path)]
    charts += [folder for folder in line.folders if os.path.lexists(os.path.join(folder, "Chart.yaml"))]
    return Finding(places=places, code=line.linked(dict.fromkeys(charts), through=True))


def sends_folder(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What is built sees the folder, and so the credentials if they are in it."""
    roots = [os.path.realpath(folder) for folder in line.folders]
    within = [
        place
        for place in places
        if any(is_inside(os.path.realpath(os.path.join(line.paths.user_home, place)), root) for root in roots)
    ]
    if within and "build" in invocation.operands[:1]:
        return Finding(places=places, withheld="the folder that is built holds them")
    return Finding(places=places, code=tuple(_named_links(line)))


MAX_KEY_FILES = 200
"""The most files of a folder with keys that are looked through for servers of this machine."""


def for_this_machine(places: Sequence[str], user_home: str) -> tuple[str, ...]:
    """Those of the places that have a key for a server of this machine."""
    table: Mapping[str, str] = load("credentials")["local_servers"]
    named = {
        file: place for place in places for file in table if file == place or file.startswith(f"{place}/")
    }
    return tuple(
        place
        for file, place in named.items()
        if any(
            re.search(table[file].replace("localhost", _of_this_machine()), text)
            for text in _texts(os.path.join(user_home, file))
        )
    )


def _of_this_machine() -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(names_of_this_machine())))})"


def _texts(path: str) -> Iterator[str]:
    """The text of a file, or of the files in a folder."""
    inner = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    for file in (path, *islice(inner, MAX_KEY_FILES)):
        with suppress(OSError, ValueError):
            yield beginning(file, MAX_SETTINGS_BYTES)


_SQL_THAT_RUNS = re.compile(
    r"""(?imx) \\ (?! (?:[dlz][a-z]*[+]? | x | timing | conninfo | encoding | pset | [aHt]) (?![\w!+]) )
    | (?:^|;) \s* (?:system|source|pager|tee|edit)\b"""
)
"""Commands of the clients themselves within SQL, but for those that describe tables and set formats."""


def plain_sql(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """SQL on the command line runs no program; a file or input might. A server may be one of the folder."""
    if invocation.piped or invocation.input or any(one.operator == "<" for one in invocation.redirects):
        return Finding(
            places=places, withheld="its input may run programs; give the statement with an option"
        )
    if any(_SQL_THAT_RUNS.search(word) for word in invocation.arguments):
        return Finding(places=places, withheld="a statement runs a program or another file")
    try:
        local = may_reach_this_machine(invocation, line.environ)
    except GetoptError as error:
        return Finding(places=places, withheld=f"its options are not known: {clip(str(error), 60)}")
    named = ["a server on this machine"] if local else []
    if any("hostaddr" in word for word in invocation.arguments) or line.environ.get("PGHOSTADDR"):
        named.append("another address than its host's")
    return Finding(places=places, code=tuple(named))


Check = Callable[[Invocation, Sequence[str], Line], Finding]
CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        transfers,
        submodules,
        signs,
        asks_git,
        local_settings,
        npm_settings,
        reads_chart,
        sends_folder,
        plain_sql,
    )
}
