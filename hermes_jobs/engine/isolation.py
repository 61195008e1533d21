"""How a process of ours is started so that it imports nothing from the current folder.

That folder may be a project that others wrote, with a `click.py` or `sitecustomize.py` of its own: whatever
is found there first would run with our keys.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

PYTHONPATH = "PYTHONPATH"


def python_module(module: str) -> list[str]:
    """The command that runs a module, without the current folder on its path.

    Not `-I`: packages that were installed for one user must stay importable.
    """
    return [sys.executable, "-P", "-m", module]


def isolated(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the entries of PYTHONPATH that mean the current folder, or one below it."""
    kept = [each for each in environ.get(PYTHONPATH, "").split(os.pathsep) if os.path.isabs(each)]  # noqa: PTH117
    others = {name: value for name, value in environ.items() if name != PYTHONPATH}
    return {**others, PYTHONPATH: os.pathsep.join(kept)} if kept else others
