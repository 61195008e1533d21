"""Where a process tells its own details, for whoever looks for a fault: without secrets."""

from __future__ import annotations

import logging
from pathlib import Path

from hermes_jobs.interfaces.cli.context import CliContext

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
FILE = "cli.log"


def log_to_stderr(context: CliContext) -> None:
    """Let this process tell what it does."""
    _begin(logging.StreamHandler(), logging.INFO, context)


def log_to_file(context: CliContext, folder: Path) -> None:
    """Keep what goes wrong in this process, with tracebacks, in a file; none is made where nothing does."""
    logging.raiseExceptions = False  # a full disk is no reason to speak
    _begin(logging.FileHandler(folder / FILE, delay=True, encoding="utf-8"), logging.WARNING, context)


def _begin(handler: logging.Handler, level: int, context: CliContext) -> None:
    class Redacting(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return context.redact(super().format(record))

    handler.setFormatter(Redacting(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
