"""The command line in a process that stops itself, as Ctrl-Z or a frozen container does.

`python -m tests.faults.stopped FACT COMMAND…`: once, as soon as a fact of that name is committed, before its
threads are told of it. SIGCONT lets it continue.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from hermes_jobs.interfaces.cli import main
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.append import PreparedAppend
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.sql import SqlEventLog


def stop_after(fact: str) -> None:
    """Let this process stop when a fact of that name is committed."""
    written, stopped, resumed = threading.Event(), threading.Event(), threading.Event()
    signal.signal(signal.SIGCONT, lambda _number, _frame: resumed.set())
    write, tell = PreparedAppend.execute, SqlEventLog._notify_all

    def writing(prepared: PreparedAppend, connection: Connection) -> tuple[RecordedEvent, ...]:
        recorded = write(prepared, connection)
        if any(each.type == fact for each in recorded):
            written.set()
        return recorded

    def telling(log: SqlEventLog) -> None:
        if written.is_set() and not stopped.is_set():
            stopped.set()
            os.kill(os.getpid(), signal.SIGSTOP)
            resumed.wait()  # the signal may reach another thread first, and this one run on for a moment
        tell(log)

    PreparedAppend.execute = writing  # type: ignore[method-assign, assignment]
    SqlEventLog._notify_all = telling  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    stop_after(sys.argv[1])
    main(sys.argv[2:])
