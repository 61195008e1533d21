"""Calls of a module in a subprocess, for work that could hang, crash or use too much memory.

The request goes in an environment variable, the response comes as JSON lines. The subprocess runs under the
same supervisor as commands: it ends at a time limit, when the call is cancelled, and with the worker.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.system.isolation import python_module
from hermes_jobs.tools.processes import Completed, run

REQUEST = "HERMES_JOBS_QUESTION"
"""The environment variable with the request: other users cannot read it, unlike arguments."""

PACKAGES = str(Path(__file__).parents[2])


def request(
    module: str,
    content: msgspec.Struct,
    *,
    env: Mapping[str, str] = {},
    timeout: float,
    cancel: Cancel,
) -> Completed:
    """Run the module's `main`, which reads `content` from `REQUEST` and prints JSON lines with `respond`.

    `timeout` is in seconds. Raises `ValueError` for content over 100,000 bytes.
    """
    encoded = msgspec.json.encode(content).decode()
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


def respond(*values: object) -> None:
    """Print values as JSON lines in ASCII, unbuffered."""
    import json

    for value in values:
        os.write(1, json.dumps(value).encode() + b"\n")


def responses(completed: Completed) -> Sequence[object]:
    """The values in the output, in order; lines that are not JSON, such as one cut short, are left out."""
    values = []
    for line in completed.output.splitlines():
        try:
            values.append(msgspec.json.decode(line))
        except msgspec.DecodeError:
            continue
    return values
