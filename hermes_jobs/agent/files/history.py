"""Past contents of the files of a folder, by which a person's edit is told from an older version."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes_jobs.agent.files.log_entries import LogEntries
from hermes_jobs.agent.files.marks import Mark, Witnesses
from hermes_jobs.domain.hand_edits import Content

T = TypeVar("T")
MAX_VERSIONS = 8  # of one file
MAX_CHARS = 200_000  # of one file's texts that the log does not have


class StoredText(msgspec.Struct, frozen=True, omit_defaults=True):
    """One content of a file: its digest, when it was written, and the version of the log that it followed.

    `text`: the content where it is not what the log had at that version, but what a person saved.
    """

    digest: str
    mark: Mark
    version: int
    text: str | None = None


class FileHistory(LogEntries[tuple[StoredText, ...]]):
    """The contents of files by name, newest last. One process at a time loads, uses and stores it.

    Stored in the JSON file `path`; the links that tell whether a file was read lie beside it.
    """

    def __init__(self, path: Path, log_id: str) -> None:
        super().__init__(path, log_id, field="files", entry=tuple[StoredText, ...])
        self._witnesses = Witnesses(path.parent)

    def of(self, name: str) -> tuple[StoredText, ...]:
        """What the file has held, newest last."""
        return self.entries.get(name, ())

    def add_read(self, name: str, file: Path, content: StoredText) -> None:
        """Add what was read from the file, where it is not what the file held last."""
        held = self.of(name)
        if not held or held[-1].digest != content.digest:
            self._add(name, file, content)

    def add_written(self, name: str, file: Path, content: StoredText) -> None:
        """Add what was written to the file; from here on a read of it can be detected."""
        self._add(name, file, content)
        self._witnesses.keep(file)

    def remove(self, name: str, file: Path) -> None:
        """Forget the file."""
        self.entries.pop(name, None)
        self._witnesses.drop(file)

    def begin_again(self, forgotten: int) -> None:
        """Forget what all files have held: the log has forgotten texts, last at that position."""
        self.entries.clear()
        self.forgotten = forgotten
        self._witnesses.drop_all()

    def contents(
        self, name: str, file: Path, restore: Callable[[StoredText], T | None], digest: Callable[[T], str]
    ) -> tuple[Content[T], ...]:
        """What the file has held, newest last.

        `restore` returns a stored content, or None where the log has no such version. Empty where a content
        cannot be restored: the log was put back to an older state since.
        """
        contents = []
        for each in self.of(name):
            content = restore(each)
            if content is None or digest(content) != each.digest:
                return ()
            contents.append(Content(content, each.mark.at, by_hand=each.text is not None))
        if contents:
            contents[-1] = msgspec.structs.replace(contents[-1], unread=self._is_unread(name, file))
        return tuple(contents)

    def _add(self, name: str, file: Path, content: StoredText) -> None:
        """A content that nobody can have read is replaced by the next one."""
        before = self.of(name)
        held = [*(before[:-1] if self._is_unread(name, file) else before), content][-MAX_VERSIONS:]
        while len(held) > 1 and sum(len(each.text or "") for each in held) > MAX_CHARS:
            del held[0]
        self.entries[name] = tuple(held)

    def _is_unread(self, name: str, file: Path) -> bool:
        held = self.of(name)
        return bool(held) and self._witnesses.is_unread(file, held[-1].mark)


def digest_of(content: str | bytes) -> str:
    """A digest that identifies a content."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return sha256(data).hexdigest()[:32]
