"""How long the worst shapes of commands are judged, and in how much memory: `JUDGING=10000` is the default.

The shapes are those of `tests/tools/worst_shapes.py`, 100 kB each. None may take half a second or 100 MB.
"""

from __future__ import annotations

import os
import resource
import time

from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from tests.tools.support import context_in
from tests.tools.worst_shapes import shape

PATHS = PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann")


def main() -> None:
    """Print the slowest shapes, and how much the process has grown."""
    policy, context = CommandPolicy(paths=PATHS), _context()
    policy.verdict("ls", context)
    before = _megabytes()
    taken = []
    for number in range(int(os.environ.get("JUDGING", "10000"))):
        text = shape(number)
        began = time.process_time()
        policy.verdict(text, context)
        taken.append((time.process_time() - began, number, text[:60]))
    print(
        f"{len(taken):,} shapes: {sum(seconds for seconds, *_ in taken) / len(taken):.3f} s of CPU on average"
    )
    for seconds, number, text in sorted(taken, reverse=True)[:10]:
        print(f"  {seconds:.2f} s  shape {number}: {text!r}")
    print(f"the process has grown by {_megabytes() - before:.0f} MB at most")


def _context() -> ToolContext:
    return context_in("/home/ann/project")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
