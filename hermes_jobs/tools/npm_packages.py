"""Packages that npm would fetch by git: it prepares those by scripts and settings of theirs."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118, PTH207

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.text.clip import clip
from hermes_jobs.tools.tables import pattern

MAX_BYTES = 20_000_000
MAX_PACKAGES = 200
"""The most packages of a project whose dependencies are looked at."""

SWITCHED_OFF: Mapping[str, str] = {
    "npm_config_allow_git": "none",
    "npm_config_git": "/dev/null",
    "npm_config_ignore_scripts": "true",
}
"""Variables with which npm prepares no package from git, also none that another package needs."""

_FILES = ("package.json", "package-lock.json", "npm-shrinkwrap.json", "node_modules/.package-lock.json")
_TABLES = (
    *("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"),
    *("overrides", "resolutions"),
)
_NAMED = re.compile(r"(?:@[\w.~-]+/)?[\w.~-]+(?:@(.*))?", re.DOTALL)
_FOLDER = re.compile(r"(?:file:|link:|portal:|(?=[./~])(?!~))(.+)", re.DOTALL)
_OF_YARN = re.compile(r'^ +(?:resolved|version):? +"?([^"\n]*)', re.MULTILINE)


def from_git(folder: str, named: Sequence[str], *, project: bool) -> list[str]:
    """What may come from git of the packages that are named, or that the project in a folder needs."""
    specs = [(match[1] or "") if (match := _NAMED.fullmatch(word)) else word for word in named]
    waiting = [*([folder] if project else []), *_folders(specs, folder)]
    for place in waiting:
        if len(waiting) > MAX_PACKAGES:
            return ["too many packages"]
        for name in (*_FILES, "yarn.lock"):
            try:
                read = _of_file(place, name)
            except (OSError, ValueError, AttributeError, TypeError, RecursionError):
                return [f"{name}, which cannot be read"]
            specs += read
            waiting += [path for path in _folders(read, place) if path not in waiting]
    harmless = pattern("credentials", "npm_without_git")
    return [
        clip(f"the package {spec}", 80)
        for spec in dict.fromkeys(specs)
        if not harmless.fullmatch(spec.strip())
    ]


def _folders(specs: Sequence[str], folder: str) -> list[str]:
    """The folders among them, whose packages are needed as well."""
    paths = [os.path.join(folder, match[1]) for spec in specs if (match := _FOLDER.fullmatch(spec.strip()))]
    return [os.path.normpath(path) for path in dict.fromkeys(paths) if os.path.isdir(path)]


def _of_file(folder: str, name: str) -> list[str]:
    """Where a file of npm says that packages come from, and its workspaces. Raises what reading it raises."""
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        return []
    text = beginning(path, MAX_BYTES)
    if name == "yarn.lock":
        return _OF_YARN.findall(text)
    data = json.loads(text.removeprefix("\ufeff"))
    members = data.get("workspaces") or ()
    patterns = members if isinstance(members, list) else dict(members).get("packages", ())
    found = [f"file:{path}" for each in patterns for path in _matching(folder, each)]
    for at, package in {**data.get("packages", {}), "": data}.items():
        found += [text for table in _TABLES for text in _texts(package.get(table))]
        found += [f"file:{folder}/{at}"] if package.get("link") else list(_texts(package.get("resolved")))
    return found


def _matching(folder: str, each: str) -> Iterator[str]:
    """The folders of a workspace. Raises `ValueError` for a pattern that leads anywhere."""
    if "**" in each:
        raise ValueError(each)
    return islice(glob.iglob(os.path.join(folder, each)), MAX_PACKAGES + 1)


def _texts(value: object) -> Iterator[str]:
    """All texts in a table of dependencies, also in those within it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
