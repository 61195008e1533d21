"""A command line in a process that kills itself while a file tool writes.

python -m tests.faults.dying_writes kept|planned|replaced COMMAND…
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from hermes_jobs.features.snapshots.store import SnapshotStore

MOMENTS = ("kept", "planned", "replaced")
"""After the old content was kept, after the change was noted, after the file was replaced."""


def die_when(moment: str) -> None:
    """Let this process be killed at that moment of its first write."""

    def kill(*_arguments: Any, **_named: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if moment == "kept":
        SnapshotStore.plan = kill  # type: ignore[method-assign]
        return
    replace = os.replace

    def replaced(*arguments: Any, **named: Any) -> None:
        if "src_dir_fd" not in named:
            replace(*arguments, **named)
            return
        if moment == "replaced":
            replace(*arguments, **named)
        kill()

    os.replace = replaced


if __name__ == "__main__":
    from hermes_jobs.interfaces.cli import main

    die_when(sys.argv[1])
    main(sys.argv[2:])
