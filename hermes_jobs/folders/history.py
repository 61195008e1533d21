"""Past contents of the files of a folder: they distinguish a user's edit from an older version."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from hermes_jobs.folders.hand_edits import Content
from hermes_jobs.folders.marks import Mark, WitnessFiles
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described

V = TypeVar("V")


class LogEntries(Generic[V]):
    """Entries by name, stored as `{"log": LOG_ID, FIELD: {NAME: ENTRY}}` in the file `path`.

    `entry` is the entries' type; `forgotten` the position at which the log had last forgotten texts when the
    files were written. One process at a time loads, uses and stores them.
    """

    def __init__(self, path: Path, log_id: str, *, field: str, entry: Any) -> None:
        self._path = path
        self._log = log_id
        self._field = field
        self._type = dict[str, entry]
        self._stored: dict[str, V] = {}
        self.entries: dict[str, V] = {}
        self.forgotten = self._stored_forgotten = 0

    def load(self) -> None:
        """Read the entries: none from a missing or broken file, or another log's. Raises `OSError`."""
        self.forgotten = 0
        self._stored = self._read()
        self._stored_forgotten = self.forgotten
        self.entries = dict(self._stored)

    def store(self) -> None:
        """Write what has changed; a crash of the machine may lose it. Raises `OSError`."""
        if (self.entries, self.forgotten) == (self._stored, self._stored_forgotten):
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        stored = {"log": self._log, "forgotten": self.forgotten, self._field: self.entries}
        write_bytes(self._path, msgspec.json.encode(stored), durable=False)
        self._stored, self._stored_forgotten = dict(self.entries), self.forgotten

    def _read(self) -> dict[str, V]:
        try:
            stored = msgspec.json.decode(self._path.read_bytes(), type=dict[str, msgspec.Raw])
            if msgspec.json.decode(stored["log"]) != self._log:
                return {}
            entries: dict[str, V] = msgspec.json.decode(stored[self._field], type=described(self._type))
            self.forgotten = msgspec.json.decode(stored.get("forgotten", b"0"), type=int)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, KeyError):
            return {}
        return entries


T = TypeVar("T")
MAX_VERSIONS = 8  # of one file
MAX_CHARS = 200_000  # of one file's texts that the log does not have


class StoredText(msgspec.Struct, frozen=True, omit_defaults=True):
    """One content of a file: its digest, when it was written, and the version of the log at that time.

    `text`: the content if a user saved it; None if it is the log's at that version.
    """

    digest: str
    mark: Mark
    version: int
    text: str | None = None


class FileHistory(LogEntries[tuple[StoredText, ...]]):
    """The contents of files by name, newest last. One process at a time loads, uses and stores it.

    Stored in the JSON file `path`; the links that detect reads are next to it.
    """

    def __init__(self, path: Path, log_id: str) -> None:
        super().__init__(path, log_id, field="files", entry=tuple[StoredText, ...])
        self._witnesses = WitnessFiles(path.parent)

    def of(self, name: str) -> tuple[StoredText, ...]:
        """The file's past contents, newest last."""
        return self.entries.get(name, ())

    def add_read(self, name: str, file: Path, content: StoredText, *, logged: bool) -> None:
        """Add the content read from the file, with its text, unless it is the newest one; `logged`: it equals
        the log's.

        The newest content with another modification time was saved by a user, who has therefore seen it.
        """
        texts = self.of(name)
        if not texts or texts[-1].digest != content.digest:
            self._add(name, file, msgspec.structs.replace(content, text=None) if logged else content)
        elif texts[-1].mark.at != content.mark.at:
            self.entries[name] = (*texts[:-1], content)

    def add_written(self, name: str, file: Path, content: StoredText) -> None:
        """Add the content written to the file; later reads of it can be detected."""
        self._add(name, file, content)
        self._witnesses.keep(file)

    def remove(self, name: str, file: Path) -> None:
        """Forget the file."""
        self.entries.pop(name, None)
        self._witnesses.drop(file)

    def begin_again(self, forgotten: int) -> None:
        """Forget all contents: the log has forgotten texts, last at that position."""
        self.entries.clear()
        self.forgotten = forgotten
        self._witnesses.drop_all()

    def contents(
        self, name: str, file: Path, restore: Callable[[StoredText], T | None], digest: Callable[[T], str]
    ) -> tuple[Content[T], ...]:
        """The file's past contents, newest last.

        `restore` returns a stored content, or None if the log has no such version. Empty if a content
        cannot be restored: the log was put back to an older state since.
        """
        contents = []
        for text in self.of(name):
            content = restore(text)
            if content is None or digest(content) != text.digest:
                return ()
            contents.append(Content(content, text.mark.at, by_hand=text.text is not None))
        if contents:
            contents[-1] = msgspec.structs.replace(contents[-1], unread=self._is_unread(name, file))
        return tuple(contents)

    def _add(self, name: str, file: Path, content: StoredText) -> None:
        """A content that was never read is replaced by the next one."""
        before = self.of(name)
        texts = [*(before[:-1] if self._is_unread(name, file) else before), content][-MAX_VERSIONS:]
        while len(texts) > 1 and sum(len(text.text or "") for text in texts) > MAX_CHARS:
            del texts[0]
        self.entries[name] = tuple(texts)

    def _is_unread(self, name: str, file: Path) -> bool:
        texts = self.of(name)
        return bool(texts) and self._witnesses.is_unread(file, texts[-1].mark)


def digest_of(content: str | bytes) -> str:
    """A digest that identifies a content."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return sha256(data).hexdigest()[:32]
