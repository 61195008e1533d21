"""Restores files to earlier contents: checks all of them first, and writes only if all can be restored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.snapshots.file_writer import FileWriter
from hermes_jobs.features.snapshots.store import SnapshotStore
from hermes_jobs.features.snapshots.turn_files import NetChange
from hermes_jobs.kernel.events import FileChange, FileState

Judgement = Literal["restore", "already", "changed", "not_kept", "not_a_file", "not_writable"]
REFUSED: frozenset[Judgement] = frozenset({"changed", "not_kept", "not_a_file", "not_writable"})
FORCEABLE: frozenset[Judgement] = frozenset({"changed"})


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A file, whether it can be restored, and why not. `current`: its present state."""

    change: NetChange
    judgement: Judgement
    reason: str = ""
    current: FileState | None = None


class Outcome(msgspec.Struct, frozen=True):
    """The completed changes, and the first file that could not be restored, with the reason."""

    changes: tuple[FileChange, ...]
    failed: str = ""
    reason: str = ""


class Rewind:
    """Undoes changes whose contents are in the store."""

    def __init__(self, store: SnapshotStore, writer: FileWriter) -> None:
        self._store = store
        self._writer = writer

    def judge(self, change: NetChange) -> Judged:
        """Whether the file can be restored. Reads it, and changes nothing."""
        try:
            state = self._writer.state(change.path)
        except Rejected as rejection:
            return Judged(change=change, judgement="not_a_file", reason=rejection.message)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror}"
            return Judged(change=change, judgement="not_writable", reason=reason)
        judgement, reason = self._judge(change, state)
        return Judged(change=change, judgement=judgement, reason=reason, current=state)

    def _judge(self, change: NetChange, state: FileState | None) -> tuple[Judgement, str]:
        before = change.before
        if _same(state, before):
            return "already", ""
        if before is not None and self._store.load(before.digest) is None:
            return "not_kept", f"what it was is not kept: {before.not_kept or 'no longer there'}"
        folder = _existing(Path(change.path).parent)
        if not os.access(folder, os.W_OK | os.X_OK):
            return "not_writable", f"{folder} cannot be written"
        if state is not None and before is not None and not os.access(change.path, os.W_OK):
            return "not_writable", "it is read-only now"
        if _same(state, change.after) or (change.unsure and _same(state, change.unwritten)):
            return "restore", ""
        if change.later:
            return "changed", f"turn {change.later} has written it since: take that back first"
        if state is None:
            return "changed", "it was deleted since"
        return "changed", "somebody has created it since" if change.after is None else "it was changed since"

    def restore(self, judged: Sequence[Judged]) -> Outcome:
        """Restore the files, including those that a user or a killed rewind has already restored.

        Stops at the first failure. Files judged `changed` are overwritten. Files that an earlier rewind has
        restored are skipped.
        """
        restored: list[FileChange] = []
        for item in judged:
            change = item.change
            if item.judgement == "already":
                if not _same(change.before, change.after):
                    restored.append(FileChange(path=change.path, before=change.after, after=change.before))
                continue
            try:
                restored.append(self._restored(item))
            except Rejected as rejection:
                return Outcome(tuple(restored), change.path, rejection.message)
            except OSError as error:
                return Outcome(tuple(restored), change.path, error.strerror or str(error))
        return Outcome(tuple(restored))

    def _restored(self, judged: Judged) -> FileChange:
        change, state = judged.change, judged.current
        before = change.before

        def check(about_to: FileChange) -> None:
            now = about_to.before
            is_readable = now is not None and now.digest != ""
            same = (
                _same(now, state) if is_readable or now is None or state is None else now.size == state.size
            )
            if not same:
                raise Rejected(f"{change.path} was changed meanwhile.", kind="changed")

        if before is None:
            return self._writer.remove(change.path, change.folders, planned=check).change
        content = self._store.load(before.digest)
        if content is None:
            raise Rejected(f"what {change.path} was is no longer kept.", kind="not_kept")
        mode = before.mode
        if state is not None and change.after is not None and state.mode != change.after.mode:
            mode = state.mode  # it was set since, on purpose
        return self._writer.replace(change.path, content, mode=mode, planned=check).change


def _same(one: FileState | None, other: FileState | None) -> bool:
    """Whether both are absent, or have the same content."""
    return one is other is None or (one is not None and one.same_content(other))


def _existing(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if path.exists())
