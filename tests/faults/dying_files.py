"""A command line in a process that kills itself right before its n-th rename of a skill's file.

python -m tests.faults.dying_files N COMMAND…
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from typing import Any


def die_at(number: int) -> None:
    """Let this process be killed before that rename within a folder."""
    renames, rename = count(1), os.rename

    def counted(*arguments: Any, **named: Any) -> None:
        if "src_dir_fd" in named and next(renames) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(*arguments, **named)

    os.rename = counted


if __name__ == "__main__":
    from hermes_jobs.interfaces.cli import main

    die_at(int(sys.argv[1]))
    main(sys.argv[2:])
