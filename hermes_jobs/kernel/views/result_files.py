"""Large tool results as files in the home's `results/`, made from the log if missing."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.system.atomic_file import write_bytes

if TYPE_CHECKING:
    from hermes_jobs.kernel.views.views import Views

logger = logging.getLogger(__name__)

CALL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


class ResultFiles:
    """The files of one home. Any host can make them, because the log has every complete result."""

    def __init__(self, log: EventLog, views: Views, folder: Path) -> None:
        self._log = log
        self._views = views
        self._folder = folder

    def file_of(self, call: str) -> Path | None:
        """The file with the whole result of a call; None where there is no such call. Raises `OSError`."""
        if not CALL.fullmatch(call):
            return None
        path = self._folder / f"{call}.txt"
        if not path.exists():
            content = self._content(call)
            if content is None:
                return None
            self._write(path, content)
        return path

    def save(self, call: str, content: str) -> None:
        """Make the file of a new result. If that fails, it is made when it is read."""
        try:
            self._write(self._folder / f"{call}.txt", content)
        except OSError as error:
            logger.warning("results/%s.txt could not be written: %s", call, error.strerror)

    def _write(self, path: Path, content: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_bytes(path, content.encode("utf-8", "replace"))

    def _content(self, call: str) -> str | None:
        stored = self._log.result(call)
        if stored is not None:
            return stored
        try:
            stream = self._views.turn(call.split("-", 1)[0]).stream
        except Rejected:
            return None
        events = (recorded.event for recorded in self._log.read(stream))
        finished = (event for event in events if isinstance(event, ToolFinished) and event.call == call)
        return next((event.content for event in finished), None)
