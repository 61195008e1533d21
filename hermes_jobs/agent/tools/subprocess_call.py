"""Work that could hang, crash or fill a worker, done by a process of its own: a question in, lines out.

The process runs under the same supervisor as commands: it ends at a time limit, at a cancel, and with the
worker.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_jobs.agent.tools.processes import Completed, run
from hermes_jobs.engine.ports import Cancel
from hermes_jobs.system.isolation import python_module

REQUEST = "HERMES_JOBS_QUESTION"
"""The environment variable with the question: unlike arguments, other users cannot see it."""

PACKAGES = str(Path(__file__).parents[3])


def request(
    module: str,
    question: msgspec.Struct,
    *,
    env: Mapping[str, str] = {},
    timeout: float,
    cancel: Cancel,
) -> Completed:
    """Run the module's `main`, which reads `question` and prints JSON lines with `tell`.

    Raises `ValueError` for a question over 100,000 bytes.
    """
    encoded = msgspec.json.encode(question).decode()
    if len(encoded) > 100_000:
        raise ValueError("the arguments are longer than 100,000 bytes")
    command = shlex.join(python_module(module))
    return run(
        f"exec {command}",
        cwd="/",
        env={**env, "PYTHONPATH": PACKAGES, REQUEST: encoded},
        timeout=timeout,
        cancel=cancel,
    )


def respond(*said: object) -> None:
    """Print values as lines of plain ASCII, which nothing on the way changes; at once."""
    import json

    for each in said:
        os.write(1, json.dumps(each).encode() + b"\n")


def responses(completed: Completed) -> Sequence[object]:
    """What was told, in order; a last line that was cut short is left out, as is whatever is no JSON."""
    found = []
    for line in completed.output.splitlines():
        try:
            found.append(msgspec.json.decode(line))
        except msgspec.DecodeError:
            continue
    return found
