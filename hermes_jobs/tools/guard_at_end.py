"""Undoes what a background process must not leave, when it has ended, and while it runs.

Run by its keeper as `python -I guard_at_end.py FOLDER [meanwhile]`, outside of the sandbox.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from hermes_jobs.tools.guard_store import FOLDER, GuardStore
from hermes_jobs.tools.process_files import ProcessFiles


def main(folder: Path, *, has_ended: bool) -> None:
    """Do it, and record the paths."""
    processes = folder.parent
    guards = GuardStore(processes.parent / FOLDER)
    undone = guards.release(folder.name) if has_ended else guards.look_at(folder.name)
    ProcessFiles(processes).write_undone(folder.name, undone)


if __name__ == "__main__":
    main(Path(sys.argv[1]), has_ended=len(sys.argv) == 2)
