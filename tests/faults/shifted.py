"""The command line in a process whose clock is wrong: `python -m tests.faults.shifted FILE COMMAND…`.

The file says by how many seconds, at every moment: the clock jumps when its content changes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hermes_jobs.interfaces.cli import main
from hermes_jobs.system.clock import SystemClock


def shift_by(file: Path) -> None:
    """Let this process's clock be wrong by what the file says."""
    true = SystemClock.now

    def now(clock: SystemClock) -> float:
        return true(clock) + float(file.read_text() or 0)

    SystemClock.now = now  # type: ignore[assignment,method-assign]  # its argument is called otherwise


if __name__ == "__main__":
    shift_by(Path(sys.argv[1]))
    main(sys.argv[2:])
