"""Settings of a long-running process: `config.yaml` and `.env` are read again when they change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

import msgspec

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.settings.keys import known_keys
from hermes_jobs.settings.load import file_stamps, load, with_values
from hermes_jobs.settings.settings import Settings
from hermes_jobs.settings.sources import SettingValue

logger = logging.getLogger(__name__)

RESTART = (
    "broker_url",
    "log_url",
    "workers",
    "metrics",
    "memory.provider",
    "memory.mem0",
    "memory.honcho",
    "context.engine",
)
"""Keys and sections that hold from a process's start to its end."""


def needs_restart(key: str) -> bool:
    """Whether processes that run keep the value of that key."""
    return any(key == name or key.startswith(f"{name}.") for name in RESTART)


class LiveSettings:
    """The current settings of the files. Thread-safe.

    `problem` is the reason why the files cannot be used: then the settings read last apply. `outdated` are
    the keys that have changed since the start and need a restart. Both are empty where all is well.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self.problem = ""
        self.outdated: tuple[str, ...] = ()
        self._first = self._current = settings
        self._environ = environ
        self._stamps = settings.stamps
        self._lock = threading.Lock()

    def current(self) -> Settings:
        """The settings: the same object as before where no file has changed, which takes two `stat`."""
        stamps = file_stamps(self._first.paths)
        if stamps == self._stamps:
            return self._current
        with self._lock:
            if stamps != self._stamps:
                self._stamps = stamps
                self._read()
            return self._current

    def _read(self) -> None:
        try:
            read = load(self._environ, home=self._first.paths.home)
        except HermesJobsError as error:
            self.problem = self._current.secrets.redact(str(error))
            logger.warning("the configuration is as it was before: %s", self.problem)
            return
        self.problem = ""
        if read.secrets.fingerprint == self._current.secrets.fingerprint:  # what was made with them can stay
            read = msgspec.structs.replace(read, secrets=self._current.secrets)
        unchanged = {
            name: SettingValue(name, value, self._first.origins[name])
            for name, key in known_keys().items()
            if needs_restart(name) and (value := self._first.value(key)) != read.value(key)
        }
        self.outdated = tuple(unchanged)
        changed = with_values(read, unchanged)
        if msgspec.structs.replace(changed, stamps=self._current.stamps) != self._current:
            self._current = changed
            logger.info("config.yaml or .env has changed and was read again")
        if unchanged:
            logger.warning("these keys hold from the next start on: %s", ", ".join(unchanged))
