"""Outages of the log, for a process that tries again and again: two lines each, however long they last."""

from __future__ import annotations

from logging import Logger

from hermes_jobs.errors import LogUnavailable


class LogOutage:
    """Logs once when the log becomes unreachable, and once when it is reachable again."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._lasts = False

    def begins(self, error: LogUnavailable) -> None:
        """An attempt has failed."""
        if not self._lasts:
            self._lasts = True
            self._logger.warning("%s", error)

    def ends(self) -> None:
        """An attempt has succeeded."""
        if self._lasts:
            self._lasts = False
            self._logger.warning("the log is reachable again")
