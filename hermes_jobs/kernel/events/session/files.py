"""Events of files that file tools wrote, of their restoration, and of files that a turn delivers."""

from __future__ import annotations

from typing import Annotated

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import TEXT
from hermes_jobs.kernel.turns.attachments import Attachment


class FileState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A regular file at one moment. `digest` is the SHA-256 of its content, empty where that was not read.

    `mode`: its permission bits. `not_kept`: why its content is not in the snapshots; empty: it was put there.
    """

    digest: str = ""
    size: int = 0
    mode: int = 0
    not_kept: str = ""

    def same_content(self, other: FileState | None) -> bool:
        """Whether both are known to have the same content."""
        return other is not None and self.digest != "" and self.digest == other.digest


class FileChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of one file, by its real path; None: there is no file before or after it.

    `folders` were made for it, outermost first.
    """

    path: Annotated[str, TEXT]
    before: FileState | None = None
    after: FileState | None = None
    folders: tuple[str, ...] = ()


class FileWritten(Event, frozen=True, kw_only=True):
    """A call of a file tool changed a file on `host`.

    `diff` is the beginning of the change as a unified diff, or says in parentheses why there is none;
    `added` and `removed` count all of its lines. `protected`: the file holds keys or passwords.
    """

    turn: str
    call: str
    change: FileChange
    host: str = ""
    added: int = 0
    removed: int = 0
    diff: str = ""
    protected: bool = False


class FilesRestored(Event, frozen=True, kw_only=True):
    """`by` reverted the turn's changes of these files on `host`, or applied them again.

    `forced`: also where the files had been changed since. `undo`: the last rewind of the turn that was not
    undone yet was, for these files.
    """

    turn: str
    by: str
    files: tuple[FileChange, ...]
    host: str = ""
    forced: bool = False
    undo: bool = False


class FilesDelivered(Event, frozen=True, kw_only=True):
    """A call hands these files over to the user, with the turn's answer."""

    turn: str
    call: str
    attachments: tuple[Attachment, ...]
