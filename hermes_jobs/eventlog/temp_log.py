"""An empty log for what has to be looked at before it is let in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_jobs.eventlog.codec import Codec
from hermes_jobs.eventlog.factory import open_log, sqlite_url
from hermes_jobs.eventlog.sql import SqlEventLog
from hermes_jobs.system.file_lock import FileLock

NAME = "import"


@contextmanager
def temp_log(folder: Path, codec: Codec) -> Iterator[SqlEventLog]:
    """A log in that folder, gone afterwards; a second process waits for it. Raises `LogUnavailable`."""
    lock, place = FileLock(folder / f"{NAME}.lock"), folder / NAME
    try:
        with lock.held():
            shutil.rmtree(place, ignore_errors=True)  # left by one that was killed
            place.mkdir(mode=0o700)
            log = open_log(sqlite_url(place / "events.db"), codec=codec)
            try:
                yield log
            finally:
                log.close()
                shutil.rmtree(place, ignore_errors=True)
    finally:
        lock.close()
