"""Archives and compressed texts from elsewhere, read within limits.

What is unpacked is bounded in size, in entries and in depth before and while it is written. Only ordinary
files are unpacked, and only below the folder that they are unpacked into; links and devices are left out. All
functions raise `Unpackable`.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast
from zipfile import ZipFile, ZipInfo

ALWAYS_ALLOWED = 64 << 20  # bytes, however small the packed file is
MAX_RATIO = 100  # unpacked bytes for each packed one; texts of logs have 5 to 20
MAX_LINE = 256 << 20
MAX_DEPTH = 32  # folders around a file
MAX_NAME = 1_000  # characters of a path
_TAR_OVERHEAD = 4_096  # bytes of headers and padding of an entry
_TAR_END = 1 << 16  # bytes behind the last entry
_PIECE = 1 << 20
_ENCRYPTED = 0x1  # the flag of an entry of a .zip


ZipFiles = tuple[tuple[PurePosixPath, ZipInfo], ...]


class Unpackable(Exception):
    """The archive is not unpacked. The message is the reason."""


def check_size(unpacked: int, packed: int, what: str) -> None:
    """Refuse what grows to a multiple of itself that no text or program needs. Raises `Unpackable`."""
    if unpacked > max(ALWAYS_ALLOWED, packed * MAX_RATIO):
        raise Unpackable(
            f"{what} grows to more than {MAX_RATIO} times its size ({packed:,} bytes become "
            f"{unpacked:,} or more), as archives do that are made to fill a disk"
        )


def checked_path(name: str) -> PurePosixPath:
    """The path of an entry, below the folder that it is unpacked into. Raises `Unpackable` for others."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise Unpackable(f"it has an entry outside of its folder: {name[:200]!r}")
    if len(path.parts) > MAX_DEPTH or len(name) > MAX_NAME:
        raise Unpackable(f"it has an entry below more than {MAX_DEPTH} folders: {name[:60]!r}…")
    return path


def zip_entries(archive: ZipFile, *, max_entries: int, max_size: int | None = None) -> ZipFiles:
    """The ordinary files of a .zip with their paths, after a check of all entries.

    `max_size` is in bytes, of all together. No more than the size that an entry states can be read of it.
    Raises `Unpackable`.
    """
    entries = archive.infolist()
    if len(entries) > max_entries:
        raise Unpackable(f"it has more than {max_entries:,} entries")
    size = 0
    files: dict[PurePosixPath, ZipInfo] = {}
    for entry in entries:
        path = checked_path(entry.filename)
        if entry.flag_bits & _ENCRYPTED:
            raise Unpackable("it is encrypted")
        if entry.is_dir() or stat.S_IFMT(entry.external_attr >> 16) not in {0, stat.S_IFREG}:
            continue
        if path in files:
            raise Unpackable(f"it has two entries of one name: {entry.filename[:200]!r}")
        check_size(entry.file_size, entry.compress_size, f"its entry {entry.filename[:200]!r}")
        size += entry.file_size
        if max_size is not None and size > max_size:
            raise Unpackable(f"it holds more than {max_size >> 20:,} MiB")
        files[path] = entry
    return tuple(files.items())


def unpack_zip(archive: ZipFile, files: ZipFiles, folder: Path) -> None:
    """Write the files into an empty folder, readable for their owner alone."""
    for path, entry in files:
        with archive.open(entry) as source:
            _write(source, folder / path, entry.external_attr >> 16)


class CountedReader:
    """A binary file that counts the bytes that were read from it; for `GzipFile`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        data = self._file.read(size)
        self.count += len(data)
        return data


def bounded_lines(
    source: IO[bytes], packed: Callable[[], int] | None, *, longest: int = MAX_LINE
) -> Iterator[bytes]:
    """The lines of a file, of at most `longest` bytes each.

    `packed`: the compressed bytes that were read of it; None: it is not compressed. Raises `Unpackable`.
    """
    size = 0
    while True:
        line = bytearray()
        while piece := source.readline(_PIECE):
            line += piece
            size += len(piece)
            if packed is not None:
                check_size(size, packed(), "it")
            if len(line) > longest:
                raise Unpackable(f"it has a line of more than {longest >> 20:,} MiB")
            if piece.endswith(b"\n"):
                break
        if not line:
            return
        yield bytes(line)


class LimitedReader:
    """A binary file of which no more than `limit` bytes can be read."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._left = limit

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes. Raises `Unpackable` beyond the limit."""
        data = self._file.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise Unpackable("it unpacks to more than it may")
        return data


def unpack_tar(file: IO[bytes], folder: Path, *, max_entries: int, max_size: int) -> None:
    """Write the ordinary files of a .tar into an empty folder. `max_size` is in bytes, of all together.

    What is not allowed is noticed when it is reached: some files may be in the folder by then. Raises
    `Unpackable`, and the errors of `tarfile`.
    """
    source = cast("IO[bytes]", LimitedReader(file, max_size + max_entries * _TAR_OVERHEAD + _TAR_END))
    size = 0
    with tarfile.open(fileobj=source, mode="r|") as archive:
        for number, member in enumerate(archive, 1):
            if number > max_entries:
                raise Unpackable(f"it has more than {max_entries:,} entries")
            if member.isdir():
                continue
            path = checked_path(member.name)
            size += member.size
            if size > max_size:
                raise Unpackable(f"it holds more than {max_size >> 20:,} MiB")
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                _write(content, folder / path, member.mode)


def _write(source: IO[bytes], target: Path, mode: int) -> None:
    """Write a new file, readable for its owner alone."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(target, flags, mode & 0o700 | 0o600), "wb") as file:
        shutil.copyfileobj(source, file)
