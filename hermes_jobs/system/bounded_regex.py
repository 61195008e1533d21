"""Regular expressions of people, searched for in a process that is ended where it takes too long.

The module `re` holds the interpreter's lock while it searches: an expression such as `(a+)+$` would keep a
worker from renewing its lease, and then each worker that takes its step over.
"""

from __future__ import annotations

import json
import subprocess
import sys

from hermes_jobs.system.cpu_affinity import without_affinity

_SEARCH = "import json, re, sys; sys.exit(re.search(*json.load(sys.stdin)) is None)"


def is_found(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether the expression is found in the text; None where that takes longer."""
    with without_affinity():
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SEARCH], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    with process:
        try:
            process.communicate(json.dumps([pattern, text]).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return process.returncode == 0
