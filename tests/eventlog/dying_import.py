"""`hermes-jobs import` that kills itself, as `kill -9` does, before its n-th write is committed: `python -m
tests.eventlog.dying_import N FILE`. To it, few lines are a batch."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from hermes_jobs.interfaces.cli import main
from hermes_jobs.kernel.log import copy_log
from hermes_jobs.kernel.log.sql import SqlEventLog

BATCH_LINES = 20


def die_at(number: int) -> None:
    """Let this process be killed within that change of tables, counted from 1."""
    change_tables, numbers = SqlEventLog.change_tables, count(1)

    def changed(log: SqlEventLog, act: Callable[[Any], Any]) -> Any:
        is_last = next(numbers) == number

        def killing(connection: Any) -> Any:
            result = act(connection)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return change_tables(log, killing)

    SqlEventLog.change_tables = changed  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    copy_log.BATCH_LINES = BATCH_LINES
    die_at(int(sys.argv[1]))
    main(["import", "--resume", "--yes", sys.argv[2]])
