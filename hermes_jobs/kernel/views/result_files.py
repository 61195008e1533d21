"""Large tool results, texts of attached documents, and pictures, as files in `results/`, made if missing."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns.attachments import IN_RESULTS
from hermes_jobs.system.atomic_file import write_bytes

if TYPE_CHECKING:
    from hermes_jobs.kernel.views.views import Views

logger = logging.getLogger(__name__)

CALL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
KEPT = re.compile(r"[A-Za-z0-9_-]{1,200}\.[a-z0-9]{1,8}")
"""Names of files beside the results."""
ATTACHED = re.compile(rf"{IN_RESULTS}([0-9a-f]{{64}})")


class ResultFiles:
    """The files of one home. Any host can make them, because the log has every complete result."""

    def __init__(
        self, log: EventLog, views: Views, folder: Path, text_of: Callable[[str], bytes | None]
    ) -> None:
        """`text_of` returns the text of a document by its digest."""
        self._log = log
        self._text_of = text_of
        self._views = views
        self._folder = folder

    def file_of(self, call: str) -> Path | None:
        """The file with the whole result of a call, or the picture of that name; None where there is none.

        Raises `OSError`.
        """
        if "." in call:
            return self._picture(call)
        if not CALL.fullmatch(call):
            return None
        path = self._folder / f"{call}.txt"
        if not path.exists():
            content = self._content(call)
            if content is None:
                return None
            self._write(path, content)
        return path

    def _picture(self, name: str) -> Path | None:
        """The picture that was attached, or that a server's result brought to this host."""
        path = self._folder / name
        if path.exists():
            return path if KEPT.fullmatch(name) else None
        attached = ATTACHED.fullmatch(name.removesuffix(".png"))
        content = self._text_of(attached[1]) if attached is not None else None
        if content is None:
            return None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_bytes(path, content)
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
        if attached := ATTACHED.fullmatch(call):
            text = self._text_of(attached[1])
            return None if text is None else text.decode(errors="replace")
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
