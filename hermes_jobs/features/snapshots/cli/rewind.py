"""Undoes a turn's changes of files, and records that; for the command line and the chat."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.snapshots.diffs import FileDiff, diff_of
from hermes_jobs.features.snapshots.file_writer import FileWriter
from hermes_jobs.features.snapshots.rewind import FORCEABLE, REFUSED, Judged, Rewind
from hermes_jobs.features.snapshots.turn_files import NetChange, TurnFiles, last_rewind, turn_files
from hermes_jobs.kernel.events import FilesRestored
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import not_ended
from hermes_jobs.system.file_lock import WAIT_SECONDS, FileLock
from hermes_jobs.tools.path_policy import verify_opened

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.views.models import TurnView


class Rewound(msgspec.Struct, frozen=True, kw_only=True):
    """What a rewind did, or (`dry_run`) would do. `left` are files that --force does not help either.

    `recorded`: there is something that --undo, or without it a rewind, changes back.
    """

    turn: str
    dry_run: bool
    files: tuple[Judged, ...]
    skipped: tuple[Judged, ...] = ()
    recorded: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether all files already have the wanted content."""
        return not self.skipped and all(judged.judgement == "already" for judged in self.files)


class TurnRewind:
    """The changed files of one turn. Methods raise `Rejected`."""

    def __init__(self, application: Application, turn: TurnView) -> None:
        self._application = application
        self._store = application.snapshots
        self._rewind = Rewind(self._store, FileWriter(self._store, verify_opened))
        if turn.into is not None:
            turn = application.views.turn(turn.into)
        self.turn = turn
        self.workdir = application.views.session(turn.session).workdir or ""

    def files(self) -> TurnFiles:
        """The turn's changes."""
        turn = self.turn
        return turn_files(self._application.log, turn.stream, turn.position, turn.id, self._store)

    def display_path(self, path: str) -> str:
        """The path relative to the session's folder, or absolute outside of it."""
        folder = os.path.realpath(self.workdir) if self.workdir else ""
        return path.removeprefix(f"{folder}/") if folder and path.startswith(f"{folder}/") else path

    def chosen(self, changes: Sequence[NetChange], paths: Sequence[str]) -> tuple[NetChange, ...]:
        """The named ones of the files, all if none is named. Raises `Rejected` for another file."""
        by_path = {change.path: change for change in changes}
        selection = []
        for name in paths:
            places = [os.path.realpath(Path(base, name)) for base in (Path.cwd(), self.workdir) if base]
            path = next((place for place in places if place in by_path), None)
            if path is None:
                names = ", ".join(self.display_path(path) for path in by_path) or "none"
                raise Rejected(
                    f"Turn {self.turn.id} has not changed {name}.", kind="usage", hint=f"Its files: {names}."
                )
            selection.append(by_path[path])
        return tuple(selection) if paths else tuple(changes)

    def judge(self, changes: Sequence[NetChange]) -> tuple[Judged, ...]:
        """Whether each change can be undone, by the current file."""
        return tuple(map(self._rewind.judge, changes))

    def diff(self, change: NetChange) -> FileDiff:
        """The whole change of a file, from its stored or current contents."""
        before, after = (
            (state, None if state is None else self._store.load(state.digest))
            for state in (change.before, change.after)
        )
        return diff_of(self.display_path(change.path), before, after, protected=change.protected)

    def run(
        self, *, undo: bool = False, force: bool = False, dry_run: bool = False, paths: Sequence[str] = ()
    ) -> Rewound:
        """Undo the changes, or (`undo`) the last rewind. Raises `Rejected`, kind `changed`, if a file was
        changed since, before any write."""
        if self.turn.ended_at is None:
            raise not_ended(self._application.engine().sessions.load(self.turn.stream), self.turn.id)
        with self._locked():
            judged = self.judge(self.chosen(self._changes(undo=undo), paths))
            refused_files = [file for file in judged if file.judgement in REFUSED]
            if refused_files and not force:
                raise self._refusal(refused_files, len(judged))
            blocked = tuple(file for file in refused_files if file.judgement not in FORCEABLE)
            files = tuple(file for file in judged if file not in blocked)
            recorded = not dry_run and self._restore(files, forced=bool(refused_files), undo=undo)
        return Rewound(turn=self.turn.id, dry_run=dry_run, files=files, skipped=blocked, recorded=recorded)

    def _changes(self, *, undo: bool) -> tuple[NetChange, ...]:
        files = self.files()
        if undo:
            changes = last_rewind(files)
            if not changes:
                done = "What was undone of" if files.restored else "Nothing of"
                was = "is redone already" if files.restored else "was undone"
                raise Rejected(f"{done} turn {self.turn.id} {was}.", kind="nothing_to_do")
            return changes
        if not files.files:
            raise Rejected(
                f"Turn {self.turn.id} has changed no files with file tools.",
                kind="nothing_to_do",
                hint="Changes by commands are not recorded." if files.commands else "",
            )
        return files.net_changes

    def _restore(self, files: Sequence[Judged], *, forced: bool, undo: bool) -> bool:
        """Restore the files and record it; returns whether anything was recorded. Raises `Rejected`."""
        outcome = self._rewind.restore(files)
        if outcome.changes:
            record = c.RecordRestored(
                FilesRestored(
                    turn=self.turn.id,
                    by="user",
                    files=outcome.changes,
                    host=socket.gethostname(),
                    forced=forced,
                    undo=undo,
                )
            )
            self._application.engine().execute(self.turn.stream, record)
        if outcome.failed:
            others = ", ".join(self.display_path(change.path) for change in outcome.changes) or "no file"
            raise Rejected(
                f"{self.display_path(outcome.failed)} could not be restored: {outcome.reason}.",
                kind="not_restored",
                hint=f"Restored before it: {others}.",
            )
        return bool(outcome.changes)

    def _refusal(self, refused_files: Sequence[Judged], total: int) -> Rejected:
        here = socket.gethostname()
        lines = []
        for file in refused_files:
            host = file.change.host
            where = f" (written on {host})" if host not in ("", here) else ""
            lines.append(f"  {self.display_path(file.change.path)}: {file.reason}{where}")
        others = total > len(refused_files)
        hints = ["Name the files to restore"] * others
        if any(file.judgement in FORCEABLE for file in refused_files):
            hints.append("overwrite with --force")
        elif others:
            hints.append(f"leave {'it' if len(refused_files) == 1 else 'them'} out with --force")
        hint = ", or ".join(hints)
        text = "\n".join(["Nothing was restored:", *lines])
        return Rejected(text, kind="changed", hint=f"{hint[:1].upper()}{hint[1:]}." if hint else "")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(
            self._application.settings.paths.run / "rewind.lock", "the files' lock", seconds=WAIT_SECONDS
        )
        try:
            with lock.hold():
                yield
        finally:
            lock.close()
