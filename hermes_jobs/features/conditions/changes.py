"""Which files have changed since a caller last asked: what a caller has seen, compared with what is there."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH111, PTH113, PTH116, PTH118, PTH207

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.regular_file import opened
from hermes_jobs.system.struct_types import described

BEFORE, AFTER = "before.json", "after.json"
MAX_FILES = 50_000
RECENT_NS = 2_000_000_000
"""A file that was written so shortly before the last look is read again: it may have changed since, in the
same tick of the file system's clock."""
KEPT_SECONDS = 3_600.0
SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv"})


class SeenFile(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was seen: bytes, time of its last write, digest of its content."""

    size: int
    mtime_ns: int
    digest: str


class Seen(msgspec.Struct, frozen=True):
    """What a caller has seen, at that moment (nanoseconds since the epoch): files by their absolute paths."""

    at_ns: int = 0
    files: Mapping[str, SeenFile] = {}


def compare(before: Seen, names: Sequence[str], folder: str, now_ns: int) -> tuple[Seen, dict[str, str]]:
    """What is there now, and `new`, `changed` or `gone` for each path that differs.

    `names` are files, folders with all that is in them, and patterns, in `folder`. Files that the caller saw
    and did not name now are compared, too, if they are gone. Raises `Rejected` for too many files.
    """
    files = dict(before.files)
    found: dict[str, str] = {}
    for path in _files(names, folder):
        known = files.get(path)
        current = _look(path, known, before.at_ns)
        if current is None:
            continue
        files[path] = current
        if known is None or known.digest != current.digest:
            found[path] = "new" if known is None else "changed"
    for path in before.files:
        if not os.path.lexists(path):
            del files[path]
            found[path] = "gone"
    return Seen(now_ns, files), found


def _look(path: str, known: SeenFile | None, looked_at_ns: int) -> SeenFile | None:
    """The file as it is; None where it cannot be read."""
    try:
        status = os.stat(path)
        same = known is not None and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns)
        if known is not None and same and status.st_mtime_ns < looked_at_ns - RECENT_NS:
            return known
        with opened(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    return SeenFile(status.st_size, status.st_mtime_ns, digest)


def _files(names: Sequence[str], folder: str) -> Iterator[str]:
    """The absolute paths of the regular files that the names mean, each once. Raises `Rejected`."""
    seen: dict[str, None] = {}
    for name in names:
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        for base in [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True)):
            for file in _below(base):
                if file not in seen:
                    seen[file] = None
                    yield file
                if len(seen) > MAX_FILES:
                    raise Rejected(
                        f"There are more than {MAX_FILES:,} files in {', '.join(names)}.",
                        kind="usage",
                        hint="Name a smaller folder, or a pattern such as 'src/**/*.py'.",
                    )


def _below(base: str) -> Iterator[str]:
    if os.path.isfile(base):
        yield base
    for folder, folders, files in os.walk(base):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path


class SeenStore:
    """What callers have seen, in a folder of the home: one file for each state, named by its digest.

    The log names the state that counts: that of the last accepted run. So a state is written before the run
    is accepted, and one that was written in vain is dropped with the next.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, caller: str, digest: str) -> bytes:
        """The state; empty where there is none (any more)."""
        try:
            return (self._folder / caller / digest).read_bytes() if digest else b""
        except FileNotFoundError:
            return b""

    def keep(self, caller: str, state: bytes, *, beside: str) -> str:
        """Write a state and return its digest; old ones go, except the one with the digest `beside`."""
        digest = hashlib.sha256(state).hexdigest()[:32]
        folder = self._folder / caller
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / digest, state)
        written = (folder / digest).stat().st_mtime
        for old in folder.iterdir():  # another worker may just have written one, for the same caller
            if old.name not in {digest, beside} and old.stat().st_mtime < written - KEPT_SECONDS:
                old.unlink(missing_ok=True)
        return digest


def decode(state: bytes) -> dict[str, Seen]:
    """What was seen under each key; nothing where it cannot be read."""
    try:
        return msgspec.json.decode(state, type=described(dict[str, Seen])) if state else {}
    except msgspec.DecodeError:
        return {}
