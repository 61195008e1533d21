"""Commands that are killed where they take longer than a number of seconds.

The module `re` holds the interpreter's lock while it searches: an expression such as `(a+)+$` would keep a
worker from renewing its lease, and then each worker that takes its step over. In a process it can be stopped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from hermes_jobs.system.cpu_affinity import without_affinity

_SEARCH = "import json, re, sys; sys.exit(re.search(*json.load(sys.stdin)) is None)"


def is_found(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether the expression is found in the text; None where that takes longer."""
    ended = run_within([sys.executable, "-I", "-S", "-c", _SEARCH], json.dumps([pattern, text]), seconds)
    return None if ended is None else ended.returncode == 0


def run_within(
    command: Sequence[str], content: str, seconds: float
) -> subprocess.CompletedProcess[bytes] | None:
    """The command's end, with its standard output; None where it took longer. `content` is its input."""
    with without_affinity():
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    with process:
        try:
            out, _ = process.communicate(content.encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return subprocess.CompletedProcess(command, process.returncode, out)
