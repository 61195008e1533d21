"""How long the worst shapes of commands and texts are judged, and in how much memory: 10,000 of each.

`JUDGING=1000` tries fewer. The shapes are those of `tests/tools/worst_shapes.py` and
`tests/text/scan/worst_shapes.py`, 100 kB each. None may take half a second or 100 MB.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.system.bytecode_file import BytecodeFile
from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.derived import derived
from hermes_jobs.text.scan.detection import detected
from hermes_jobs.text.scan.kept import keep_in
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from tests.text.scan.worst_shapes import shape as text_shape
from tests.tools.support import context_in
from tests.tools.worst_shapes import shape as command_shape

PATHS = PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann")


def main() -> None:
    """Print the slowest shapes, and how much the process has grown."""
    policy, context = CommandPolicy(paths=PATHS), _context()
    keep_in(BytecodeFile(Path(kept.__file__).parent, "scan"), derived)
    _judge("commands", command_shape, lambda text: policy.verdict(text, context))
    _judge("texts", text_shape, detected)


def _judge(what: str, shape: Callable[[int], str], judge: Callable[[str], object]) -> None:
    judge("ls")
    before = _megabytes()
    taken = []
    for number in range(int(os.environ.get("JUDGING", "10000"))):
        text = shape(number)
        began = time.process_time()
        judge(text)
        taken.append((time.process_time() - began, number, text[:60]))
    average = sum(seconds for seconds, *_ in taken) / len(taken)
    print(f"{len(taken):,} shapes of {what}: {average:.3f} s of CPU on average")
    for seconds, number, text in sorted(taken, reverse=True)[:10]:
        print(f"  {seconds:.2f} s  shape {number}: {text!r}")
    print(f"the process has grown by {_megabytes() - before:.0f} MB at most")


def _context() -> ToolContext:
    return context_in("/home/ann/project")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
