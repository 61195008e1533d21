"""Maintenance of a home: deletes old data, cleans up after a forgetting, and what features have to do.

Workers do it hourly, `send` after an answer when a day has passed; one process of a home at a time.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel.events import TextsForgotten
from hermes_jobs.kernel.feature import parts
from hermes_jobs.system.allocator import return_free_memory
from hermes_jobs.system.file_lock import FileLock
from hermes_jobs.tools.folder_guard import ACCEPTED

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.events.recorded import RecordedEvent

logger = logging.getLogger(__name__)

FIRST_AFTER = 30.0  # seconds after a worker's start
EVERY = 3_600.0
AGAIN = 2.0  # seconds until a cleanup is tried again that a reader of the log held up
TRIM_EVERY = 60.0  # seconds between two returns of free memory to the system
POLL_SECONDS = 600.0  # for texts without a vector, and for finished conversations
DAY = 86_400.0
KEPT_DAYS = {"tmp": 2, "cache": 30, "quarantine": 90, ACCEPTED: 90}
"""By folder of the home, the days after its last use that something of a command is kept."""


def maintain_home(application: Application) -> None:
    """Run it now, unless another process does. A failure is logged, and the next run tries again."""
    paths = application.settings.paths
    lock = FileLock(paths.run / "housekeeping.lock")
    try:
        with lock.try_hold() as is_locked:
            if is_locked:
                _maintain_home(application)
                (paths.run / "housekept").touch(mode=0o600)
    except (HermesJobsError, OSError) as error:
        logger.warning("housekeeping is tried again later: %s", error)
    finally:
        lock.close()


def maintain_home_if_due(application: Application) -> None:
    """Run it if the last run was a day ago, or if a forgetting is not cleaned up yet."""
    from hermes_jobs.features.forgetting.cleanup import unfinished

    with suppress(HermesJobsError):  # the next run checks again
        if unfinished(application) is not None or _is_due(application):
            maintain_home(application)


def _is_due(application: Application) -> bool:
    settings = application.settings
    if settings.retention.days is None and settings.memory.curate != "apply":
        return False
    try:
        return time.time() - (application.settings.paths.run / "housekept").stat().st_mtime >= DAY
    except FileNotFoundError:
        return True


def _maintain_home(application: Application) -> None:
    from hermes_jobs.features.forgetting.cleanup import Cleanup

    Cleanup(application).clean()
    _collect_attachments(application)
    application.snapshots.prune_if_due(time.time())
    if not application.processes.running():
        remove_unused(application.settings.paths.home, time.time())
    for tidy in parts("upkeep"):
        tidy(application)


def _collect_attachments(application: Application) -> None:
    """Delete attachments that were never named, or no longer are; those of the last day are about to be."""
    from hermes_jobs.kernel.log.blobs import collect_unnamed
    from hermes_jobs.kernel.log.sql import SqlEventLog

    log = application.log
    assert isinstance(log, SqlEventLog), "only a log in a database has blobs"
    count = collect_unnamed(log, application.blobs, application.shared.blob_files, time.time() - DAY)
    if count:
        logger.info("deleted %d contents of attachments that no event names", count)


def remove_unused(home: Path, now: float) -> None:
    """Delete temporary files, caches and quarantined files of commands that nothing has used for long."""
    for kind, days in KEPT_DAYS.items():
        folder = home / kind
        for path in folder.iterdir() if folder.is_dir() else ():
            if now - path.lstat().st_mtime <= days * DAY:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def plan_work(application: Application) -> None:
    """Plan the features' work that the clock makes due. A failure is logged, and the next run tries again."""
    for plan in parts("planning"):
        try:
            plan(application)
        except HermesJobsError as error:
            logger.warning("work is planned later: %s", error)


class Housekeeper:
    """The thread of a worker for this maintenance.

    It cleans up after a removal at once, beside the process that removes texts: if that is killed, nobody has
    to notice.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._stopping = False
        self._wakeup = threading.Event()
        self._is_clean = False
        self._thread = threading.Thread(target=self._run, name="housekeeper", daemon=True)

    def start(self) -> None:
        """Start the thread; its first run is a little later."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; unfinished work is left to the next run."""
        self._stopping = True
        self._wakeup.set()

    def follow(self, news: Sequence[RecordedEvent]) -> None:
        """Look at new events of the log."""
        if any(isinstance(recorded.event, TextsForgotten) for recorded in news):
            self._is_clean = False
            self._wakeup.set()

    def _run(self) -> None:
        now = time.monotonic()
        plan_at, maintain_at = now + FIRST_AFTER, now + FIRST_AFTER
        while not self._stopping:
            self._wakeup.clear()
            try:
                self._clean_up()
                return_free_memory()
                now = time.monotonic()
                if now >= plan_at:
                    plan_at = now + POLL_SECONDS
                    plan_work(self._application.current())
                if now >= maintain_at:
                    maintain_at = now + EVERY
                    maintain_home(self._application)
            except Exception:
                logger.exception("housekeeping failed; it is tried again later")
            pause = min(plan_at, maintain_at) - time.monotonic()
            self._wakeup.wait(max(0.0, min(pause, TRIM_EVERY if self._is_clean else AGAIN)))

    def _clean_up(self) -> None:
        from hermes_jobs.features.forgetting.cleanup import finish

        if not self._is_clean:
            self._is_clean = True  # before it looks: a removal meanwhile is looked at again
            self._is_clean = finish(self._application) and self._is_clean
