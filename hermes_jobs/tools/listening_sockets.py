"""Unix sockets on which programs outside of the sandbox listen, wherever they lie.

Such a program may run code for whoever connects: a terminal multiplexer, a watcher of files, an open
connection of ssh. Sources: proc(5), and `net/unix/af_unix.c` of Linux for the columns of `/proc/net/unix`.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH115, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sandbox_plan import MARK

_BOUND = re.compile(r" (?:(00010000) \w+|00000000 0002) \w+ +(\d+) ([^@\n].*)")
"""Flags, type, state, inode and name: `__SO_ACCEPTCON` if it listens; type 2 takes datagrams."""
_DATABASE = re.compile(
    r"(?:^|/)(?:\.s\.PGSQL\.\d+|(?:mysql|redis)[^/]*\.sock|mongodb-[^/]*\.sock|memcached\.sock)$"
)
"""They run no code for a client, and programs of a project need them."""


class Bound(NamedTuple):
    """A Unix socket with a name: an absolute path, or one from the folder in which its program was."""

    name: str
    inode: str
    listens: bool


def bound() -> Iterator[Bound]:
    """The named ones of this network namespace to which programs connect or send."""
    with suppress(OSError), open("/proc/net/unix", errors="surrogateescape", newline="\n") as table:
        for flag, inode, name in _BOUND.findall(table.read()):
            yield Bound(name, inode, listens=bool(flag))


def outside(folders: Iterable[str], covered: Sequence[str]) -> list[str]:
    """The real paths of sockets in these folders on which programs outside of our sandboxes listen, but for
    databases and for what lies in `covered` places. A program that is not found counts as outside."""
    wanted = _Wanted(tuple(dict.fromkeys(map(os.path.realpath, folders))), covered)
    listening = (each for each in bound() if each.listens and not _DATABASE.search(each.name))
    unlisted = [each for each in listening if each.name[0] != "/" or wanted.at(each.name)]
    if not unlisted:
        return []
    own, others = _processes()
    found: list[str] = []
    for each in unlisted:
        if each.inode not in own:
            found += wanted.at(each.name) if each.name[0] == "/" else wanted.relative(each, others)
    return sorted(set(found))


@dataclass(frozen=True)
class _Wanted:
    """The sockets in `places` that are not in `covered` ones."""

    places: Sequence[str]
    covered: Sequence[str]
    real: Callable[[str], str] = field(default_factory=lambda: cache(os.path.realpath))
    """Cached, as many sockets are in few folders."""

    def at(self, name: str) -> list[str]:
        """The one with an absolute name; if it was renamed, as ssh and others do when they are ready, all in
        its folder."""
        folder = self.real(os.path.dirname(name))
        if not self._reaches(folder):
            return []
        if _is_socket(name):
            return self._among([name])
        with suppress(OSError), os.scandir(folder) as entries:
            return self._among(entry.path for entry in entries if not (entry.is_file() or entry.is_dir()))
        return []

    def relative(self, socket: Bound, others: Sequence[str]) -> list[str]:
        """The one with a relative name: where one of the `others` is, or in a place. Of several, those where
        the processes are that hold it."""
        folders = {pid: _link(f"/proc/{pid}/cwd") or "/" for pid in others}
        found = _named(socket.name, {*folders.values(), *self.places})
        wanted = self._among(found)
        if not wanted or len(found) == 1:  # else all descriptors are looked at
            return wanted
        held = {folder for pid, folder in folders.items() if socket.inode in _held(pid)}
        return self._among(_named(socket.name, held) or found)

    def _reaches(self, folder: str) -> bool:
        return _is_within(folder, self.places) and not _is_within(folder, self.covered)

    def _among(self, names: Iterable[str]) -> list[str]:
        paths = {os.path.realpath(name) for name in names if _is_socket(name)}
        return [path for path in paths if self._reaches(path) and "\n" not in path]


def _named(name: str, folders: Iterable[str]) -> set[str]:
    """The real paths of sockets with a relative name; also without its last suffix, which ssh takes off."""
    names = (name, name.rpartition(".")[0] or name)
    paths = (os.path.join(folder, each) for folder in folders for each in names)
    return {os.path.realpath(path) for path in paths if _is_socket(path)}


def _is_within(path: str, folders: Iterable[str]) -> bool:
    return any(is_inside(path, folder) for folder in folders)


def _is_socket(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISSOCK(os.stat(path).st_mode)
    return False


def _link(path: str) -> str:
    """What a link of `/proc` leads to; empty if its process has ended or is another user's."""
    with suppress(OSError):
        return os.readlink(path)
    return ""


def _processes() -> tuple[set[str], list[str]]:
    """The inodes of the sockets that processes in our sandboxes hold, and the numbers of all others."""
    own: set[str] = set()
    others: list[str] = []
    ours = {_link("/proc/self/ns/mnt"): False, "": False}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        namespace = _link(f"/proc/{pid}/ns/mnt")
        if namespace not in ours:
            ours[namespace] = _is_sandbox(pid)
        if ours[namespace]:
            own |= _held(pid)
        else:
            others.append(pid)
    return own, others


def _is_sandbox(pid: str) -> bool:
    """Whether a process with a mount namespace of its own is in a sandbox of ours: flatpak and services of
    systemd have one, too."""
    with suppress(OSError), open(f"/proc/{pid}/mountinfo", errors="surrogateescape") as mounts:
        return any(f" - tmpfs {MARK} " in mount for mount in mounts)
    return False


def _held(pid: str) -> set[str]:
    """The inodes of the sockets that a process holds."""
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        links = (_link(f"{folder}/{descriptor}") for descriptor in os.listdir(folder))
        return {link[8:-1] for link in links if link.startswith("socket:[")}
    return set()
