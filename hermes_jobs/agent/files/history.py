"""What each file of a folder has held, newest last, kept in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from hermes_jobs.agent.files.marks import Mark
from hermes_jobs.system.atomic_file import write_bytes

REMEMBERED = 8  # contents of one file
REMEMBERED_CHARS = 200_000  # of texts of one file that the log does not have


class StoredText(msgspec.Struct, frozen=True, omit_defaults=True):
    """One content of a file: its digest, when it was written, and the version of the log that it followed.

    `text`: the content where it is not what the log had at that version, but what a person saved.
    """

    digest: str
    mark: Mark
    version: int
    text: str | None = None


class _Stored(msgspec.Struct, frozen=True):
    log: str
    files: dict[str, tuple[StoredText, ...]]


class FileHistory:
    """The contents of the files in a folder, by name. One process at a time loads, uses and stores it."""

    def __init__(self, path: Path, log_id: str) -> None:
        self._path = path
        self._log = log_id
        self._files: dict[str, tuple[StoredText, ...]] = {}
        self._stored: Mapping[str, tuple[StoredText, ...]] = {}

    def load(self) -> None:
        """Read what was stored; of another log, or broken: nothing. Raises `OSError`."""
        try:
            stored = msgspec.json.decode(self._path.read_bytes(), type=_Stored)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            stored = _Stored(log="", files={})
        self._files = stored.files if stored.log == self._log else {}
        self._stored = dict(self._files)

    def store(self) -> None:
        """Write what has changed. A crash of the machine may lose it. Raises `OSError`."""
        if self._files == self._stored:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        stored = _Stored(log=self._log, files=self._files)
        write_bytes(self._path, msgspec.json.encode(stored), durable=False)
        self._stored = dict(self._files)

    def of(self, name: str) -> tuple[StoredText, ...]:
        """What the file has held, newest last."""
        return self._files.get(name, ())

    def add(self, name: str, held: StoredText, *, instead: bool = False) -> None:
        """The file holds this now; `instead`: nobody has seen what it held before."""
        before = self.of(name)
        kept = [*(before[:-1] if instead else before), held][-REMEMBERED:]
        while len(kept) > 1 and sum(len(each.text or "") for each in kept) > REMEMBERED_CHARS:
            del kept[0]
        self._files[name] = tuple(kept)

    def drop(self, name: str) -> None:
        """Forget the file."""
        self._files.pop(name, None)


def digest_of(content: str | bytes) -> str:
    """By what a content is known again."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return sha256(data).hexdigest()[:32]
