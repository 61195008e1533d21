"""Process logs, for finding faults: without secrets."""

from __future__ import annotations

import logging
from pathlib import Path

from hermes_jobs.interfaces.cli.context import CliContext

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
FILE = "cli.log"


def log_to_stderr(context: CliContext) -> None:
    """Log to standard error."""
    _begin(logging.StreamHandler(), logging.INFO, context)


def log_to_file(context: CliContext, folder: Path) -> None:
    """Log errors of this process, with tracebacks, to a file, which is created on the first error."""
    logging.raiseExceptions = False  # a full disk is ignored
    _begin(logging.FileHandler(folder / FILE, delay=True, encoding="utf-8"), logging.WARNING, context)


def _begin(handler: logging.Handler, level: int, context: CliContext) -> None:
    class Redacting(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return context.redact(super().format(record))

    handler.setFormatter(Redacting(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
