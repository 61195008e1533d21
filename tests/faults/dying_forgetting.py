"""`hermes-jobs` that kills itself, as `kill -9` does, before a part of forgetting: `python -m
tests.faults.dying_forgetting PART ARGUMENT…`. The parts are those of `PARTS`, in their order."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.forgetting import cleanup
from hermes_jobs.features.forgetting import erase as forgetting
from hermes_jobs.interfaces.cli import main
from hermes_jobs.kernel.log import forget as log_forgetting
from hermes_jobs.kernel.log.append import PreparedAppend
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.views.views import Views

PARTS: dict[str, tuple[Any, str]] = {
    "search": (forgetting.Forgetter, "find"),
    "typed": (forgetting.Forgetter, "_scrub_files"),
    "record": (PreparedAppend, "execute"),  # within the transaction that has rewritten the events
    "home": (cleanup.Cleanup, "clean"),
    "views": (Views, "catch_up"),
    "files": (Application, "sync_files"),
    "others": (Views, "delete_old"),
    "results": (cleanup.Cleanup, "_delete_results"),
    "snapshots": (cleanup.Cleanup, "_delete_snapshots"),
    "database": (SqlEventLog, "erase_deleted"),
    "erased": (log_forgetting, "moved"),
    "marker": (cleanup, "write_bytes"),
}


def die_before(part: str) -> None:
    """Let this process be killed when that part begins; those that follow on the transaction, after it."""
    owner, name = PARTS[part]
    begin = getattr(owner, name)
    must_be_after = part not in {"search", "typed", "record"}
    rewritten = False

    change_tables = SqlEventLog.change_tables

    def changed(log: SqlEventLog, act: Any) -> Any:
        nonlocal rewritten
        outcome = change_tables(log, act)
        rewritten = True
        return outcome

    def dying(*arguments: Any, **named: Any) -> Any:
        if rewritten or not must_be_after:
            os.kill(os.getpid(), signal.SIGKILL)
        return begin(*arguments, **named)

    SqlEventLog.change_tables = changed  # type: ignore[method-assign,assignment]
    setattr(owner, name, dying)


if __name__ == "__main__":
    die_before(sys.argv[1])
    main(sys.argv[2:])
