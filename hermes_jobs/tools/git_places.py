"""Where git goes from a folder: where its `.git` leads, and the submodules that its index names.

Read without git, which would obey the settings there. Of an index, what is read is more than git would find,
never less: both lengths of hashes, and all names of a shared index of which some entries were replaced. See
gitformat-index(5).
"""

# Paths are compared as text, and each call counts.
# ruff: noqa: PTH112, PTH114, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping

from hermes_jobs.system.regular_file import opened
from hermes_jobs.tools.inside import is_inside

MAX_BYTES = 200_000_000
MAX_SUBMODULES = 20_000
MAX_REMEMBERED = 10_000
TICK_NS = 100_000_000
"""Longer than the steps of a file system's clock."""

_LINK = b"\0\0\xe0\0"  # the mode 160000
_SHARED = re.compile(rb"link\0(?!\0{3})")
_WORKTREE = re.compile(r"^\s*(?:\[[^\]]*\]\s*)?worktree\s*=\s*(.*)$", re.IGNORECASE | re.MULTILINE)
_HASHES = (20, 32)

_remembered: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}


def working(names: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Of folders with names in them, those with a repository, each with its git folder."""
    for folder, there in names.items():
        if ".git" in there and (git := git_folder(folder)):
            yield folder, git
        elif "HEAD" in there and "objects" in there:
            yield folder, folder


def submodules(repositories: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The folders of submodules that are there, also of submodules, each with the git folder that names it.

    `repositories`: working folders with their git folders.
    """
    waiting = list(repositories)
    seen: set[tuple[str, str]] = set()
    for folder, git in waiting:
        names = gitlinks(git)
        for worktree in (folder, *worktrees(git)) if names else ():
            for name in names:
                path = os.path.normpath(os.path.join(worktree, name))
                inner = git_folder(path)
                if inner and (path, inner) not in seen and len(seen) < MAX_SUBMODULES:
                    seen.add((path, inner))
                    waiting.append((path, inner))
                    yield path, git


def git_folder(folder: str) -> str:
    """The git folder of a working folder, where links and its `.git` lead; empty without one."""
    own = os.path.join(folder, ".git")
    if os.path.isdir(own):
        return os.path.realpath(own) if os.path.islink(own) else own
    pointed = pointed_at(_read(own, 4096))
    return os.path.realpath(os.path.join(folder, pointed)) if pointed else ""


def bare(folder: str) -> str:
    """The folder itself, if it is a git folder; else empty. See `is_git_directory` in git's `setup.c`."""
    is_one = os.path.lexists(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects"))
    return folder if is_one else ""


def repository_above(folder: str) -> tuple[str, str]:
    """The nearest folder with a repository, from a folder upward, and its git folder; empty without one."""
    at = os.path.realpath(folder)
    while not (git := git_folder(at)) and at != os.path.dirname(at):
        at = os.path.dirname(at)
    return at, git


def leads_back(worktree: str, git: str) -> bool:
    """Whether a working folder that settings of a git folder name has that git folder, as a submodule has."""
    found = git_folder(os.path.join(git, worktree)) if worktree else ""
    return bool(found) and os.path.realpath(found) == os.path.realpath(git)


def pointed_at(content: bytes) -> str:
    """The path in a file `.git`, as git reads it; empty for none."""
    return os.fsdecode(content).partition("gitdir:")[2].removeprefix(" ").rstrip("\r\n")


def git_folders(workdir: str) -> Iterator[str]:
    """The folders outside the working folder where git stores the commits that are made in it.

    Those are the repository of a folder above, of a linked worktree, and of a submodule. A pointer to a
    repository counts only if that one points back, or lies in a repository above.
    """
    real = os.path.realpath(workdir)
    above = [real]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    owners = [os.path.join(folder, ".git") for folder in above]
    own = next((path for path in owners if os.path.lexists(path)), "")
    if os.path.islink(own) or not own:
        return
    if os.path.isdir(own):
        yield from [own] if own != owners[0] else []
        return
    pointed = os.path.realpath(os.path.join(os.path.dirname(own), pointed_at(_read(own, 4096))))
    if any(is_inside(pointed, os.path.join(owner, "modules")) for owner in owners if os.path.isdir(owner)):
        yield pointed
    elif os.path.realpath(first_line(os.path.join(pointed, "gitdir"))) == own:
        yield common_folder(pointed)


def first_line(path: str) -> str:
    """The first line of a regular file without blanks around it; empty without one."""
    return os.fsdecode(_read(path, 4096).partition(b"\n")[0]).strip()


def common_folder(git: str) -> str:
    """The git folder that a linked worktree shares with its repository; of any other one itself."""
    common = first_line(f"{git}/commondir")
    return os.path.realpath(os.path.join(git, common)) if common else git


def alternates(git: str) -> Iterator[str]:
    """The folders from which a repository takes objects (`info/alternates`), and so on."""
    waiting = [f"{common_folder(git)}/objects"]
    seen = set(waiting)
    for objects in waiting:
        for line in _read(f"{objects}/info/alternates", 1_000_000).splitlines():
            named = os.fsdecode(line)
            if named[:1] == '"':  # quoted as in C
                named = re.sub(r"\\(.)", r"\1", named.strip('"'))
            path = os.path.normpath(os.path.join(objects, named))
            if named[:1] not in ("", "#") and path not in seen:
                seen.add(path)
                waiting.append(path)
                yield path


def worktrees(git: str) -> Iterator[str]:
    """The working folders that its settings may name."""
    for name in ("config", "config.worktree"):
        text = _read(f"{git}/{name}", 1_000_000).decode("utf-8", "surrogateescape")
        for value in _WORKTREE.findall(text):
            yield os.path.join(git, re.split("[;#]", value)[0].replace('"', "").strip())


def gitlinks(git: str) -> tuple[str, ...]:
    """The paths that the index of a git folder names as submodules; read again only if it has changed."""
    try:
        status = os.stat(f"{git}/index")
    except OSError:
        return ()
    stamp = (status.st_ino, status.st_ctime_ns, status.st_size)
    known = _remembered.get(git)
    if known is not None and known[0] == stamp:
        return known[1]
    now = time.time_ns()
    names = tuple(sorted(_links(git, _read(f"{git}/index", MAX_BYTES))))
    if len(_remembered) > MAX_REMEMBERED:
        _remembered.clear()
    if now - status.st_ctime_ns > TICK_NS:
        _remembered[git] = (stamp, names)
    return names


def _links(git: str, index: bytes) -> set[str]:
    shared = _SHARED.search(index)
    if _LINK not in index and not shared:
        return set()
    found: set[bytes] = set()
    for length in _HASHES:
        entries, end = _entries(index, length)
        found |= {name for name, is_link in entries if is_link and name}
        for at in (each.start() for each in _SHARED.finditer(index, end)) if shared else ():
            base = _read(f"{git}/sharedindex.{index[at + 8 : at + 8 + length].hex()}", MAX_BYTES)
            replaced = any(is_link and not name for name, is_link in entries)
            if replaced or _LINK in base:
                found |= {name for name, is_link in _entries(base, length)[0] if is_link or replaced}
    return {os.fsdecode(name) for name in found}


def _entries(index: bytes, length: int) -> tuple[list[tuple[bytes, bool]], int]:
    """The names in an index, each with whether it is a submodule, and where they end; those before what is no
    entry."""
    version, count = int.from_bytes(index[4:8], "big"), int.from_bytes(index[8:12], "big")
    found: list[tuple[bytes, bool]] = []
    at, name = 12, b""
    for _ in range(count):
        flags, mode = index[at + 40 + length : at + 42 + length], index[at + 24 : at + 28]
        start = at + 42 + length + (2 if flags[:1] and flags[0] & 0x40 and version > 2 else 0)
        if version == 4:
            cut, start = _number(index, start)
            name = name[: max(0, len(name) - cut)]
        end = index.find(b"\0", start)
        if end < 0:
            break
        name = name + index[start:end] if version == 4 else index[start:end]
        found.append((name, mode == _LINK))
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)
    return found, at


def _number(index: bytes, at: int) -> tuple[int, int]:
    """The number of variable length there, and where it ends."""
    value = -1
    for at in range(at, min(at + 10, len(index))):  # noqa: B020, PLR1704
        value = (value + 1) << 7 | index[at] & 0x7F
        if index[at] < 0x80:
            break
    return max(value, 0), at + 1


def _read(path: str, most: int) -> bytes:
    try:
        with opened(path) as file:
            return file.read(most)
    except (OSError, ValueError):
        return b""
