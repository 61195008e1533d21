"""Isolation of processes: ours import nothing from the current folder, the agent's cannot act as the user.

The current folder may be a project that others wrote, with a `click.py` or `sitecustomize.py` of its own,
which would run with our keys. A command of the agent is known by its environment and by its ancestors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes_jobs.errors import Misconfigured

PYTHONPATH = "PYTHONPATH"
INSIDE_TOOL = "HERMES_JOBS_INSIDE_TOOL"
"""Set in the environment of the agent's commands."""

LOOKS_FOR_CHANGES = "HERMES_JOBS_LOOKS_FOR_CHANGES"
"""In the environment of a condition's command: the folder with what its caller has seen of files. Only
`hermes-jobs changed`, which opens no home then, may run in there."""

SUPERVISOR = "hermes-command"
"""The name of the process that supervises a command of the agent."""

MAX_ANCESTORS = 200


def python_module(module: str) -> list[str]:
    """The command that runs a module, without the current folder on its path.

    Not `-I`: packages that were installed for one user must stay importable.
    """
    return [sys.executable, "-P", "-m", module]


def isolated(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the entries of PYTHONPATH that mean the current folder, or one below it."""
    absolute = [folder for folder in environ.get(PYTHONPATH, "").split(os.pathsep) if os.path.isabs(folder)]  # noqa: PTH117
    others = {name: value for name, value in environ.items() if name != PYTHONPATH}
    return {**others, PYTHONPATH: os.pathsep.join(absolute)} if absolute else others


def refuse_inside_tool(environ: Mapping[str, str]) -> None:
    """Raise `Misconfigured` where a command of the agent started this process."""
    if is_inside_tool(environ):
        raise Misconfigured(
            "A command of the agent runs this, and hermes-jobs is the user's to run.",
            hint="The agent has tools of its own for memory, skills and schedules; the user does the rest.",
        )


def is_inside_tool(environ: Mapping[str, str]) -> bool:
    """Whether a command of the agent started this process: by its environment, or by its ancestors.

    The variable can be unset by a command; not having that ancestor takes a process outside of the command.
    """
    return bool(environ.get(INSIDE_TOOL)) or SUPERVISOR in _ancestors()


def _ancestors() -> Iterator[str]:
    """The names of the processes above this one, nearest first; none on systems without /proc."""
    pid = os.getppid()
    for _ in range(MAX_ANCESTORS):
        try:
            text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:
            return
        name, _, rest = text.partition("(")[2].rpartition(")")
        yield name
        pid = int(rest.split()[1])
        if pid <= 1:
            return
