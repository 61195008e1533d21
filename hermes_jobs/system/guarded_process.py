"""The other side of the process guard: a process that ends when its guard has ended, whatever else happens.

The signal that Linux sends then may be lost with a program's own handler, and other systems send none.
Where the kernel tells when a process has ended (pidfd_open(2)), nothing looks periodically.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Mapping

from hermes_jobs.system.process_guard import VARIABLE

CHECK_SECONDS = 1.0
EXIT_CODE = 130


def end_with_guard(environ: Mapping[str, str]) -> None:
    """If a guard has started this process, end it with the guard: TERM, and after its grace at once.

    Processes that this one starts are not affected, although they have the variable too.
    """
    guard, _, grace = environ.get(VARIABLE, "").partition(" ")
    if guard == str(os.getppid()):
        arguments = (int(guard), float(grace))
        threading.Thread(target=_watch, args=arguments, name="guard", daemon=True).start()


def _watch(guard: int, grace: float) -> None:
    try:
        ended = os.pidfd_open(guard)
    except (AttributeError, OSError):  # another system, an old kernel, or it has ended
        while os.getppid() == guard:
            time.sleep(CHECK_SECONDS)
    else:
        if os.getppid() == guard:  # the descriptor is not of a later process with its number
            select.select([ended], [], [])
        os.close(ended)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace + CHECK_SECONDS)
    os._exit(EXIT_CODE)
