"""Protected files outside the home of hermes-jobs: keys and credentials, and files that run by themselves.

The lists are in `data/sensitive_paths.toml`. File tools, rules for commands and the sandbox use them.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH113, PTH118, PTH123, PTH207

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import Literal

from hermes_jobs.tools.listening_sockets import bound
from hermes_jobs.tools.tables import load, pattern

Kind = Literal["secret", "startup", "project secret"]
_ANY_HOME = re.compile(r"/root(?=/)|/(?:home|users)/[^/]+(?=/)")  # of a path without capitals
_FILES = ("XAUTHORITY", "ICEAUTHORITY")  # of other variables a file is a program, such as SSH_ASKPASS
KINDS: tuple[Kind, ...] = ("secret", "startup")
"""Those that commands may not write."""
SECRETS: tuple[Kind, ...] = ("secret", "project secret")


def paths_in(table: str) -> tuple[str, ...]:
    """The paths of `secrets` and `startup`, from the user's home, or of `system_secrets`."""
    return tuple(load("sensitive_paths")[table])


@cache
def folders_above_secrets() -> frozenset[str]:
    """The folders, from the user's home, that have secrets below them: `.config` for `.config/gh`."""
    return frozenset(
        folder
        for secret in paths_in("secrets")
        for folder in map(str, PurePosixPath(secret).parents)
        if folder != "."
    )


def kind_of(real: str, user_home: str) -> Kind | None:
    """What the file at a real absolute path is of these; None for any other.

    A "project secret" is read with approval, and written and used like any file, unless it `runs_in_project`.
    Capitals do not count: there are file systems to which `.SSH` is `.ssh`.
    """
    path = real.casefold()
    below = set(_below(path, user_home))
    if pattern("sensitive_paths", "shareable").search(path):
        return None
    if (
        _guarded().search(path)
        or pattern("sensitive_paths", "startup").search(path)
        or not below.isdisjoint(_casefolded("startup"))
    ):
        return "startup"
    if pattern("sensitive_paths", "secret").search(path) or not below.isdisjoint(_casefolded("secrets")):
        return "secret"
    if any(
        path == protected or path.startswith(f"{protected}/") for protected in _casefolded("system_secrets")
    ):
        return "secret"
    if is_project_secret(path):
        return "project secret"
    return "startup" if _asked().search(path) else None


@cache
def guarded_names() -> tuple[str, ...]:
    """What editors, shells and other agents run by themselves, from a folder. `*` is any part of a name."""
    return tuple(load("sensitive_paths")["guarded"]["names"])


@cache
def _guarded() -> re.Pattern[str]:
    return re.compile(f"/(?:{_any_of(guarded_names())})(?:/|$)")


@cache
def _asked() -> re.Pattern[str]:
    return re.compile(f"/(?:{_any_of(load('sensitive_paths')['guarded']['asked'])})$")


def _any_of(names: Iterable[str]) -> str:
    return "|".join(re.escape(name.casefold()).replace(r"\*", "[^/]*") for name in names)


def runs_in_project(path: str) -> re.Match[str] | None:
    """Where a path, without capitals, names a file of a project that runs by itself."""
    return _guarded().search(path) or _asked().search(path)


_OF_REPOSITORY = {
    **dict.fromkeys(("head", "config", "config.worktree", "commondir"), True),
    **dict.fromkeys(("hooks", "objects", "refs"), False),
}
"""Names in a repository without `.git`; whether they are files."""


def makes_repository(real: str) -> bool:
    """Whether writing the file at a real absolute path makes or changes a repository that git obeys.

    That is one of its names in a folder that then has what git looks for, or a `.git` that leads to one."""
    parts = real.split("/")
    if parts[-1].casefold() == ".git":
        return True
    for at, name in enumerate(parts):
        is_file = _OF_REPOSITORY.get(name.casefold())
        if is_file is None or is_file is not (at == len(parts) - 1):
            continue
        folder = "/".join(parts[:at])
        needed = ("head", "objects", "refs", "commondir")
        there = {each for each in needed if os.path.lexists(f"{folder}/{each.replace('head', 'HEAD')}")}
        there.add(name.casefold())
        if "head" in there and not there.isdisjoint(needed[1:]):
            return True
    return False


def is_project_secret(path: str) -> bool:
    """Whether a path, also a relative one, has a usual name of a file with keys beside the code."""
    return pattern("sensitive_paths", "project_secret").search(f"/{path.casefold()}") is not None


@cache
def instruction_names() -> tuple[str, ...]:
    """The files and folders of a project that prompts have later."""
    return tuple(load("sensitive_paths")["guarded"]["instructions"])


@cache
def _instructions() -> re.Pattern[str]:
    names = "|".join(map(re.escape, map(str.casefold, instruction_names())))
    above = "|".join({re.escape(name.partition("/")[0]) for name in instruction_names() if "/" in name})
    return re.compile(f"/(?:(?:{names})(?:/|$)|(?:{above})$)")


def instructs(path: str) -> re.Match[str] | None:
    """Where an absolute path names such a file, a folder of them, or one above it."""
    return _instructions().search(path.casefold())


@cache
def _casefolded(table: str) -> frozenset[str]:
    return frozenset(protected.casefold() for protected in paths_in(table))


@cache
def _max_parts() -> int:
    """The parts of the longest of these paths."""
    return max(secret.count("/") + 1 for secret in (*paths_in("secrets"), *paths_in("startup")))


def _below(path: str, user_home: str) -> Iterator[str]:
    """The path from a home folder, the user's or another one's, and the folders there above it."""
    other = _ANY_HOME.match(path)
    for home in (user_home.casefold(), _real_home(user_home), *([other[0]] if other else ())):
        if path.startswith(f"{home.rstrip('/')}/"):
            parts = path[len(home.rstrip("/")) + 1 :].split("/", _max_parts())
            return ("/".join(parts[:length]) for length in range(1, min(len(parts), _max_parts()) + 1))
    return iter(())


@lru_cache(maxsize=8)
def _real_home(user_home: str) -> str:
    return os.path.realpath(user_home).casefold()


def secret_places(user_home: str) -> Iterator[str]:
    """The real paths of the secrets that exist."""
    yield from _existing(user_home, paths_in("secrets"))


def startup_places(user_home: str) -> Iterator[str]:
    """The existing real paths of files that run by themselves."""
    yield from _existing(user_home, paths_in("startup"))


def system_places(user_home: str, *, others_only: bool = False) -> Iterator[str]:
    """The real paths of what this process can read of the system's keys, other people's, and raw disks."""
    homes = (home for home in ("/root", *glob.iglob("/home/*")) if os.access(home, os.X_OK))
    others = (home for home in homes if _real_home(home) != _real_home(user_home))
    theirs = (path for home in others for path in _existing(home, (*paths_in("secrets"), ".hermes-jobs")))
    for path in (*theirs, *(() if others_only else _of_system())):
        if os.access(path, os.R_OK):
            yield os.path.realpath(path)


def _of_system() -> Iterator[str]:
    """The keys of the system, and raw disks."""
    for place in paths_in("system_secrets"):
        yield from glob.iglob(place)
    with os.scandir("/dev") as entries:
        yield from (
            entry.path for entry in entries if stat.S_ISBLK(entry.stat(follow_symlinks=False).st_mode)
        )


def devices() -> list[str]:
    """The devices of this machine that a command uses without an approval."""
    return [path for place in paths_in("devices") for path in glob.iglob(place)]


def _existing(user_home: str, places: tuple[str, ...]) -> Iterator[str]:
    for protected in places:
        path = os.path.join(user_home, protected)
        if os.path.lexists(path):
            yield os.path.realpath(path)


def sockets(user_home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The existing real paths of sockets through which other processes can be made to do more than a command
    may: those of the list, and those that variables of the session name."""
    table = load("sensitive_paths")["sockets"]
    uid = str(os.getuid())
    places = [place.replace("UID", uid) for place in table["paths"]]
    places += [os.path.join(user_home, place) for place in table["below_home"]]
    named = {name: socket_path(environ.get(name, "")) for name in session_variables()}
    places += [path for name, path in named.items() if path and (name in _FILES or not os.path.isfile(path))]
    places += _agents(user_home)
    yield from dict.fromkeys(os.path.realpath(place) for place in places if os.path.lexists(place))


def _agents(user_home: str) -> Iterator[str]:
    """The sockets of agents wherever they are: by their names, and those that the settings of ssh name."""
    names = (each.name for each in bound())
    yield from (name for name in names if name.startswith("/") and _AGENT.search(name))
    with suppress(OSError), open(os.path.join(user_home, ".ssh/config"), errors="replace") as settings:
        for named in _IDENTITY_AGENT.findall(settings.read(MAX_SETTINGS)):
            yield os.path.join(user_home, named.removeprefix("~/"))


MAX_SETTINGS = 100_000  # characters
_AGENT = re.compile(r"(?i)(?:agent|keyring|bitwarden|1password)[^/]*(?:/[^/]*)?$")
_IDENTITY_AGENT = re.compile(r"(?im)^\s*IdentityAgent[\s=]+\"?([^\s\"$]+)")


@cache
def session_variables() -> tuple[str, ...]:
    """The names of variables that lead to services of the person's session."""
    return tuple(load("sensitive_paths")["sockets"]["variables"].split())


def socket_path(value: str) -> str:
    """The absolute path in a variable such as SSH_AUTH_SOCK, DOCKER_HOST or TMUX; empty if there is none."""
    text = value.partition("unix:")[2].removeprefix("path=") if "unix:" in value else value
    path = text.split(",")[0].split(";")[0]
    path = f"/{path.lstrip('/')}" if path.startswith("//") else path
    return path if path.startswith("/") and path.strip("/") else ""


def system_folders() -> Sequence[str]:
    """The folders of the operating system."""
    folders: Sequence[str] = load("sensitive_paths")["system"]["folders"]
    return folders


def caches() -> Mapping[str, str]:
    """By environment variable, the folder of a program's cache below that of the agent."""
    variables: Mapping[str, str] = load("sensitive_paths")["caches"]
    return variables


def linked() -> Mapping[str, str]:
    """By path in the agent's cache, the credentials that a program looks for there, from the user's home."""
    places: Mapping[str, str] = load("sensitive_paths")["linked"]
    return places


def downloads() -> Mapping[str, str]:
    """By environment variable, what programs look for in a person's cache, from the user's home."""
    variables: Mapping[str, str] = load("sensitive_paths")["downloads"]
    return variables
