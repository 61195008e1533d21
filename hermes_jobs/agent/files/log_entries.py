"""What a home stores about files that follow from a log: entries by name in one JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from hermes_jobs.system.atomic_file import write_bytes

V = TypeVar("V")


class LogEntries(Generic[V]):
    """Entries by name, stored as `{"log": LOG_ID, FIELD: {NAME: ENTRY}}` in the file `path`.

    `entry` is the entries' type; `forgotten` the position at which the log had last forgotten texts when the
    files were written. One process at a time loads, uses and stores them.
    """

    def __init__(self, path: Path, log_id: str, *, field: str, entry: Any) -> None:
        self._path = path
        self._log = log_id
        self._field = field
        self._type = dict[str, entry]
        self._stored: dict[str, V] = {}
        self.entries: dict[str, V] = {}
        self.forgotten = self._stored_forgotten = 0

    def load(self) -> None:
        """Read the entries: none from a missing or broken file, or another log's. Raises `OSError`."""
        self.forgotten = 0
        self._stored = self._read()
        self._stored_forgotten = self.forgotten
        self.entries = dict(self._stored)

    def store(self) -> None:
        """Write what has changed; a crash of the machine may lose it. Raises `OSError`."""
        if (self.entries, self.forgotten) == (self._stored, self._stored_forgotten):
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        stored = {"log": self._log, "forgotten": self.forgotten, self._field: self.entries}
        write_bytes(self._path, msgspec.json.encode(stored), durable=False)
        self._stored, self._stored_forgotten = dict(self.entries), self.forgotten

    def _read(self) -> dict[str, V]:
        try:
            stored = msgspec.json.decode(self._path.read_bytes(), type=dict[str, msgspec.Raw])
            if msgspec.json.decode(stored["log"]) != self._log:
                return {}
            entries: dict[str, V] = msgspec.json.decode(stored[self._field], type=self._type)
            self.forgotten = msgspec.json.decode(stored.get("forgotten", b"0"), type=int)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, KeyError):
            return {}
        return entries
