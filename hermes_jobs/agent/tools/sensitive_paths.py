"""Protected files outside the home of hermes-jobs: keys and credentials, and files that run by themselves.

The lists are in `data/sensitive_paths.toml`. File tools, rules for commands and the sandbox use them.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import Literal

from hermes_jobs.agent.tools.tables import load, pattern

Kind = Literal["secret", "startup"]
KINDS: tuple[Kind, ...] = ("secret", "startup")


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

    Capitals do not count: there are file systems to which `.SSH` is `.ssh`.
    """
    path = real.casefold()
    below = set(_below(path, user_home))
    if pattern("sensitive_paths", "shareable").search(path):
        return None
    if pattern("sensitive_paths", "startup").search(path) or not below.isdisjoint(_casefolded("startup")):
        return "startup"
    if pattern("sensitive_paths", "secret").search(path) or not below.isdisjoint(_casefolded("secrets")):
        return "secret"
    system = any(
        path == protected or path.startswith(f"{protected}/") for protected in _casefolded("system_secrets")
    )
    return "secret" if system else None


@cache
def _casefolded(table: str) -> frozenset[str]:
    return frozenset(protected.casefold() for protected in paths_in(table))


@cache
def _max_parts() -> int:
    """The parts of the longest of these paths."""
    return max(secret.count("/") + 1 for secret in (*paths_in("secrets"), *paths_in("startup")))


def _below(path: str, user_home: str) -> Iterator[str]:
    """The path from the user's home, and the folders there above it; nothing for a path elsewhere."""
    for home in (user_home.casefold(), _real_home(user_home)):
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


def _existing(user_home: str, places: tuple[str, ...]) -> Iterator[str]:
    for protected in places:
        path = os.path.join(user_home, protected)
        if os.path.lexists(path):
            yield os.path.realpath(path)


def escapes(uid: int) -> Iterator[str]:
    """The existing real paths of sockets through which other processes can be made to run commands."""
    for socket in (
        "/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/systemd/private",
        "/run/dbus/system_bus_socket", f"/run/user/{uid}", f"/tmp/tmux-{uid}", "/run/screen",
    ):  # fmt: skip
        if os.path.lexists(socket):
            yield os.path.realpath(socket)
