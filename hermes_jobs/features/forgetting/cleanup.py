"""What follows in a home from texts that were removed from its log.

Any process repeats these steps until they succeed: rebuild the views, write the files of memory and skills
from the log, delete the files of large results, and erase the deleted data from the database's files.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.blobs import named_everywhere
from hermes_jobs.kernel.log.forget import erase_remains, events_of_type
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, NEWEST
from hermes_jobs.kernel.turns.attachments import IN_RESULTS
from hermes_jobs.kernel.turns.session import lineage_of, stream_of
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.file_lock import FileLock

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

logger = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds that a cleanup waits for readers of an earlier state
BREATH = 0.1  # seconds between two attempts


class Cleanup:
    """Cleans one home. Every method raises `LogUnavailable`."""

    def __init__(self, application: Application) -> None:
        log = application.log
        assert isinstance(log, SqlEventLog), "only a log in a database can forget"
        self._application = application
        self._log = log

    def clean(self) -> bool:
        """Remove forgotten texts from this home's files and the database; whether none is left.

        Has no effect after a complete cleanup. Waits for another process of this home that cleans up, and
        completes what that leaves if it is killed.
        """
        paths = self._application.settings.paths
        lock = FileLock(paths.run / "forgetting.lock", "removed texts, to clean up after them")
        try:
            with lock.hold():
                is_clean = self._clean()
                if is_clean:
                    paths.forgetting.unlink(missing_ok=True)
                return is_clean
        finally:
            lock.close()

    def clean_patiently(self) -> bool:
        """The same, again and again for a few seconds: another process may be reading an earlier state."""
        until = self._application.clock.monotonic() + PATIENCE
        while not self.clean():
            if self._application.clock.monotonic() >= until:
                return False
            time.sleep(BREATH)
        return True

    def _clean(self) -> bool:
        done = unfinished(self._application)
        if done is None:
            return True
        self._application.views.catch_up()
        self._application.views.delete_old()
        self._application.sync_files()
        self._delete_results()
        self._delete_snapshots()
        self._delete_blobs()
        if not erase_remains(self._log):
            return False
        write_bytes(self._application.settings.paths.forgotten, done.encode())
        return True

    def _delete_results(self) -> None:
        """The next reader makes them again from the log."""
        results = self._application.settings.paths.results
        for file in (*results.glob("*.txt"), *results.glob(f"{IN_RESULTS}*")):
            file.unlink(missing_ok=True)

    def _delete_snapshots(self) -> None:
        """Contents of files that only deleted sessions have written, and their processes."""
        deleted = {
            stream_of(session)
            for _, event in events_of_type(self._log, e.TextsForgotten)
            for session in event.sessions
        }
        remaining, forgotten, calls = set[str](), set[str](), set[str]()
        for stream, event in events_of_type(self._log, e.FileWritten) if deleted else ():
            states = (event.change.before, event.change.after)
            digests = {state.digest for state in states if state is not None}
            (forgotten if stream in deleted else remaining).update(digests)
            if stream in deleted:
                calls.add(event.call)
        self._application.snapshots.forget(forgotten - remaining, calls)
        self._application.processes.forget({lineage_of(stream) for stream in deleted})

    def _delete_blobs(self) -> None:
        """Attachments that no event names since their names were removed."""
        forgotten = frozenset[str]().union(
            *(event.blobs for _, event in events_of_type(self._log, e.TextsForgotten))
        )
        if forgotten:
            with self._log.snapshot() as connection:
                remaining = named_everywhere(connection)
            self._application.blobs.delete(sorted(forgotten - remaining))


def unfinished(application: Application) -> str | None:
    """What this home's marker says once it has followed the log's newest removal; None if it says so already.

    Raises `LogUnavailable`.
    """
    newest = application.log.key(KEY_SCOPE, NEWEST)
    if newest is None:
        return None
    done = f"{application.log.log_id} {newest.position}\n"
    with suppress(OSError):
        if application.settings.paths.forgotten.read_text(encoding="utf-8") == done:
            return None
    return done


def finish(application: Application) -> bool:
    """Complete a removal whose process was killed; whether nothing is left to do. A failure is logged."""
    try:
        return unfinished(application) is None or Cleanup(application).clean()
    except (HermesJobsError, OSError) as error:
        logger.warning("removed texts are cleaned up later: %s", error)
        return False
