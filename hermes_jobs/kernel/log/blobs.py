"""The bytes that events name by digest: each content once, as a file beside the log.

Where the log's database is shared by several hosts, its table `blobs` holds them, too, and the files are
copies. Bytes are on the disk, or committed, before an event that names them is appended.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from hermes_jobs.errors import Corrupt, LogUnavailable
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.system.atomic_file import write_bytes

ATTACHED = '"attachments":[{'
"""What the stored text of an event contains that names bytes, in whichever of its messages."""

_DIGEST = re.compile(r'"(?:digest|sent|text)":"([0-9a-f]{64})"')


class BlobStore(Protocol):
    """The stored bytes. Every method raises `LogUnavailable`."""

    def put(self, content: bytes) -> str:
        """Store the content durably; returns its digest."""

    def get(self, digest: str) -> bytes | None:
        """The content; None where it is not stored. Raises `Corrupt` where it has another digest."""

    def digests(self) -> Iterator[str]:
        """The digests of all contents, in order."""

    def delete(self, digests: Collection[str]) -> None:
        """Delete those contents."""


def digest_of(content: bytes) -> str:
    """The name of a content: its SHA-256, in hex."""
    return sha256(content).hexdigest()


def named_in(data: str) -> tuple[str, ...]:
    """The digests that the stored text of an event names, each once."""
    return tuple(dict.fromkeys(_DIGEST.findall(data))) if ATTACHED in data else ()


class BlobFiles:
    """A `BlobStore` of files `ab/cd…`, readable for their owner alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, content: bytes) -> str:
        """See `BlobStore.put`. Raises `LogUnavailable`."""
        digest = digest_of(content)
        path = self._path(digest)
        try:
            if not path.exists():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_bytes(path, content)
            else:
                path.touch()  # it is in use: see `older_than`
        except OSError as error:
            raise LogUnavailable(f"{path} cannot be written: {error.strerror}.") from error
        return digest

    def get(self, digest: str) -> bytes | None:
        """See `BlobStore.get`. Raises `Corrupt`, `LogUnavailable`."""
        try:
            content = self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LogUnavailable(f"{self._path(digest)} cannot be read: {error.strerror}.") from error
        if digest_of(content) != digest:
            raise Corrupt(f"{self._path(digest)} is not what was stored: restore it from a backup.")
        return content

    def digests(self) -> Iterator[str]:
        for path in sorted(self._folder.glob("??/*")):
            if re.fullmatch(r"[0-9a-f]{62}", path.name):
                yield f"{path.parent.name}{path.name}"

    def delete(self, digests: Collection[str]) -> None:
        for digest in digests:
            self._path(digest).unlink(missing_ok=True)

    def older_than(self, moment: float) -> Iterator[str]:
        """Those that were stored, or stored again, before that moment, in seconds since the epoch."""
        for digest in self.digests():
            with suppress(FileNotFoundError):
                if self._path(digest).stat().st_mtime < moment:
                    yield digest

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]


class SharedBlobs:
    """A `BlobStore` in the table `blobs` of the log's database; the files are this host's copies."""

    def __init__(self, log: SqlEventLog, files: BlobFiles) -> None:
        self._log = log
        self._files = files

    def put(self, content: bytes) -> str:
        digest = digest_of(content)
        row = {"digest": digest, "content": content}
        self._log.change_tables(lambda connection: connection.execute(sql.INSERT_BLOB, row))
        return self._files.put(content)

    def get(self, digest: str) -> bytes | None:
        """See `BlobStore.get`. Raises `Corrupt`, `LogUnavailable`."""
        with suppress(Corrupt):
            if (content := self._files.get(digest)) is not None:
                return content
        with self._log.snapshot() as connection:
            row = connection.execute(sql.SELECT_BLOB, {"digest": digest}).fetchone()
        if row is None:
            return None
        content = bytes(row[0])
        if digest_of(content) != digest:
            raise Corrupt(f"The log's blob {digest} is not what was stored: restore it from a backup.")
        self._files.put(content)
        return content

    def digests(self) -> Iterator[str]:
        with self._log.snapshot() as connection:
            rows = connection.execute(sql.SELECT_BLOBS).fetchall()
        return iter([digest for (digest,) in rows])

    def delete(self, digests: Collection[str]) -> None:
        rows = [{"digest": digest} for digest in digests]

        def act(connection: Connection) -> None:
            connection.executemany(sql.DELETE_BLOB, rows)

        if rows:
            self._log.change_tables(act)
        self._files.delete(digests)


def open_blobs(log: SqlEventLog, folder: Path) -> tuple[BlobStore, BlobFiles]:
    """The store of that log, and this host's files of it; `folder` is beside a log in a file."""
    files = BlobFiles(folder)
    return (files if log.is_local else SharedBlobs(log, files)), files


def named_everywhere(connection: Connection) -> frozenset[str]:
    """The digests that any event names."""
    rows = connection.execute(sql.SELECT_ATTACHED, {"attached": f"%{ATTACHED}%"}).fetchall()
    return frozenset(digest for (data,) in rows for digest in named_in(data))


def collect_unnamed(log: SqlEventLog, blobs: BlobStore, files: BlobFiles, before: float) -> int:
    """Delete what no event names and was stored before that moment, in seconds since the epoch; its number.

    What was just stored is about to be named.
    """
    candidates = set(files.older_than(before))
    if not candidates:
        return 0
    with log.snapshot() as connection:
        unnamed = candidates - named_everywhere(connection)
    blobs.delete(sorted(unnamed))
    return len(unnamed)
