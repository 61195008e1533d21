"""The contents of files before and after each write of a file tool, in the home's `snapshots/`.

    contents/ab/ab12…   one content, compressed by zlib, under the SHA-256 of what it holds
    writes/CALL.json    the change that a call is about to make; written before the file is touched
    pruned              its time is that of the last pruning

A content is synced to the disk before its file is replaced, so that a crash in between loses nothing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hermes_jobs.kernel.events import FileChange, FileState
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described

logger = logging.getLogger(__name__)

CONTENTS, WRITES, PRUNED = "contents", "writes", "pruned"
CALL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
PRUNE_EVERY = 600.0  # seconds
LEVEL = 1  # fast: the tools wait for the compression
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class SnapshotLimits:
    """The most bytes of one file and of all together, and the seconds for which a content is stored; 0
    seconds: nothing is stored."""

    file_bytes: int = 10 * MEGABYTE
    total_bytes: int = 500 * MEGABYTE
    seconds: float = 30 * 86_400.0


DEFAULT_LIMITS = SnapshotLimits()


class SnapshotStore:
    """The contents and planned changes of one home. Safe for concurrent threads and processes."""

    def __init__(self, folder: Path, limits: SnapshotLimits = DEFAULT_LIMITS) -> None:
        self.folder = folder
        self.limits = limits
        self._added = 0

    def store_content(self, content: bytes, mode: int, *, durable: bool = True) -> FileState:
        """Store a content, with the mode of its file; the state has the reason if it could not be stored."""
        digest = hashlib.sha256(content).hexdigest()
        state = FileState(digest=digest, size=len(content), mode=mode)
        reason = self.refusal(len(content))
        if not reason:
            try:
                self._write(digest, content, durable=durable)
            except OSError as error:
                logger.warning("snapshots/: a file's content could not be kept: %s", error.strerror)
                reason = error.strerror or "the home cannot be written"
        return msgspec.structs.replace(state, not_kept=reason)

    def refusal(self, size: int) -> str:
        """Why a content of that size is not stored; empty if it is."""
        if self.limits.seconds <= 0:
            return "switched off"
        return format_size(size) if size > self.limits.file_bytes else ""

    def load(self, digest: str) -> bytes | None:
        """The content with that digest; None if it is missing or corrupt."""
        if not digest:
            return None
        try:
            content = zlib.decompress(self._place(digest).read_bytes())
        except (OSError, zlib.error):
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def plan(self, call: str, change: FileChange) -> None:
        """Store the change that a call is about to make, unless snapshots are off. Raises `OSError`."""
        if self.limits.seconds <= 0:
            return
        try:
            encoded = msgspec.json.encode(change)
        except UnicodeEncodeError:  # a path that is not UTF-8, which the log cannot store either
            return
        write_bytes(self._made(WRITES) / f"{call}.json", encoded)

    def planned(self, call: str) -> FileChange | None:
        """The change that a call was about to make; None if there is none."""
        if not CALL.fullmatch(call):
            return None
        try:
            return msgspec.json.decode(
                (self.folder / WRITES / f"{call}.json").read_bytes(), type=described(FileChange)
            )
        except (OSError, msgspec.DecodeError):
            return None

    def forget(self, digests: set[str], calls: set[str]) -> None:
        """Delete contents and planned changes. Raises `OSError`."""
        for digest in filter(None, digests):
            self._place(digest).unlink(missing_ok=True)
        for call in calls:
            if CALL.fullmatch(call):
                (self.folder / WRITES / f"{call}.json").unlink(missing_ok=True)

    def files_holding(self, matches: Callable[[str], bool]) -> Iterator[Path]:
        """The stored contents and planned changes with a match in their text."""
        for _, _, path in self._files():
            with suppress(OSError, zlib.error):
                stored = path.read_bytes()
                content = stored if path.parent.name == WRITES else zlib.decompress(stored)
                if matches(content.decode("utf-8", "replace")):
                    yield path

    def prune(self, now: float) -> int:
        """Delete expired contents, then the oldest until the rest fits; returns the number of files.

        If snapshots are off, stored contents expire after the default time.
        """
        seconds = self.limits.seconds if self.limits.seconds > 0 else DEFAULT_LIMITS.seconds
        deleted = 0
        files = sorted(self._files(), key=lambda item: item[0])
        total = sum(size for _, size, _ in files)
        for modified_at, size, path in files:
            planned = path.parent.name == WRITES
            if now - modified_at <= seconds and (planned or total <= self.limits.total_bytes):
                continue
            with suppress(OSError):
                path.unlink()
                deleted += 1
                total -= size
        return deleted

    def prune_if_due(self, now: float) -> None:
        """Prune if the last time is long ago, or much was added since."""
        marker = self.folder / PRUNED
        try:
            due = now - marker.stat().st_mtime >= PRUNE_EVERY
        except OSError:
            due = True
        if not self.folder.exists() or not (due or self._added > self.limits.total_bytes // 20):
            return
        self._added = 0
        try:
            marker.touch(mode=0o600)
            os.utime(marker, (now, now))
            self.prune(now)
        except OSError as error:
            logger.warning("snapshots/ could not be pruned: %s", error.strerror)

    def _write(self, digest: str, content: bytes, *, durable: bool) -> None:
        place = self._place(digest)
        with suppress(FileNotFoundError):
            os.utime(place)  # as new: it is needed for as long as a new one
            return
        self._made(CONTENTS, digest[:2])
        packed = zlib.compress(content, LEVEL)
        write_bytes(place, packed, durable=durable)
        self._added += len(packed)

    def _place(self, digest: str) -> Path:
        return self.folder / CONTENTS / digest[:2] / digest

    def _made(self, *names: str) -> Path:
        folder = self.folder
        for name in ("", *names):
            folder = folder / name
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """The time of last use, size and path of each file."""
        for name in (CONTENTS, WRITES):
            for here, _, names in os.walk(self.folder / name):
                for file_name in names:
                    path = Path(here) / file_name
                    with suppress(OSError):
                        status = path.stat()
                        yield status.st_mtime, status.st_size, path


def format_size(size: int) -> str:
    """A number of bytes for users."""
    for unit, bytes_each in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if size >= bytes_each:
            return f"{size / bytes_each:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"
