"""MEMORY.md and USER.md of one home: reading them, and writing one whole or not at all.

A text is written beside the file, made safe, and exchanged with it: whatever stood there by then, also what
an editor saved a moment ago, is in hand afterwards and can be taken in. Two kinds of files may be left by a
process that died: an unfinished one, which is nothing, and a ready one, which holds what a file had.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from hermes_jobs.domain.events import MemoryTarget
from hermes_jobs.memory import exchange

NAMES: Mapping[MemoryTarget, str] = {"memory": "MEMORY.md", "user": "USER.md"}
MAX_BYTES = 1 << 20
MODE = 0o600
UNFINISHED, READY = ".unfinished", ".ready"


class Unusable(Exception):
    """Why a file cannot be taken in; it is left as it is."""


class MemoryFiles:
    """The files in one folder. One process at a time calls it; people do as they like."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, target: MemoryTarget) -> str | None:
        """What the file has; null where there is none. Raises `Unusable`, `OSError`."""
        return _read(self.path(target))

    def write(self, target: MemoryTarget, text: str) -> None:
        """Put the text in the file's place; what stood there by then is left over. Raises `OSError`."""
        path = self.path(target)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ready = _made_ready(path, text)
        with suppress(FileNotFoundError):
            if not exchange.exchange(ready, path):
                ready.replace(path)
            _sync(path.parent)
            return
        # There is no file; where somebody saves one meanwhile, theirs stays.
        with suppress(FileExistsError):
            os.link(ready, path)
        ready.unlink()
        _sync(path.parent)

    def left_over(self, target: MemoryTarget) -> Iterator[str]:
        """What stood in the file's place when it was written, and was not taken in yet; each is gone after
        that. Raises `OSError`."""
        path = self.path(target)
        for unfinished in path.parent.glob(f".{path.name}.*{UNFINISHED}"):
            unfinished.unlink(missing_ok=True)
        for ready in path.parent.glob(f".{path.name}.*{READY}"):
            with suppress(Unusable):
                yield _read(ready) or ""
            ready.unlink(missing_ok=True)

    def path(self, target: MemoryTarget) -> Path:
        """Where the file is; a link leads to its end, or to itself where it has none."""
        return Path(os.path.realpath(self._folder / NAMES[target]))


def _read(path: Path) -> str | None:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise Unusable("it is no file")
        if found.st_size > MAX_BYTES:
            raise Unusable(f"it has {found.st_size:,} bytes, more than {MAX_BYTES:,}")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Unusable("it is no UTF-8 text") from None


def _made_ready(path: Path, text: str) -> Path:
    """A file beside that one, which holds the text and is on disk."""
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", suffix=UNFINISHED, dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        os.fchmod(descriptor, _mode_of(path))
        os.fsync(descriptor)
    return Path(unfinished).rename(unfinished.removesuffix(UNFINISHED) + READY)


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return MODE


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
