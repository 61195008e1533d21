"""A copy of a home that cannot be written, to read from: views are built and files are synchronised in it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp

from hermes_jobs.settings import Paths

WAL = "-wal"
NOT_COPIED = frozenset({"attachments", "logs", "results", "run", "snapshots"})
"""Folders of the home that are derived, of its processes, or linked."""
FROM_RUN = ("shown", "forgotten")
"""What of the processes' folder says how far the home's files follow the log."""


def is_read_only(paths: Paths) -> bool:
    """Whether the home is there and can be read, but not be written."""
    home = paths.home
    return home.is_dir() and os.access(home, os.R_OK | os.X_OK) and not os.access(home, os.W_OK)


class HomeCopy:
    """The copy, in a temporary folder of the user's, until it is closed."""

    def __init__(self, paths: Paths) -> None:
        """Raises `OSError`."""
        self.paths = Paths(home=Path(mkdtemp(prefix="hermes-jobs-")))
        try:
            for entry in _copied(paths):
                target = self.paths.home / entry.relative_to(paths.home)
                target.parent.mkdir(mode=0o700, exist_ok=True)
                if entry.is_dir():
                    shutil.copytree(entry, target, symlinks=True)
                else:
                    shutil.copy2(entry, target)
            for linked in (paths.attachments, paths.snapshots):
                if linked.is_dir():
                    (self.paths.home / linked.name).symlink_to(linked)
            if paths.events_db.is_file():
                _copy_log(paths.events_db, self.paths.events_db)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete it."""
        shutil.rmtree(self.paths.home, ignore_errors=True)


def _copied(paths: Paths) -> Iterator[Path]:
    for entry in paths.home.iterdir():
        if entry.name not in NOT_COPIED and not entry.name.startswith(paths.events_db.name):
            yield entry
    yield from (entry for name in FROM_RUN if (entry := paths.run / name).exists())


def _copy_log(log: Path, copy: Path) -> None:
    """Copy the database as of one moment; where SQLite cannot open it, for want of its index, the files."""
    try:
        with (
            closing(sqlite3.connect(f"{log.as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error:
        copy.unlink(missing_ok=True)
        shutil.copyfile(log, copy)
        wal = Path(f"{log}{WAL}")
        if wal.exists():
            shutil.copyfile(wal, f"{copy}{WAL}")
