"""The places that hermes-jobs itself runs from: its packages, its environment and its interpreter.

A command that could write there would run with all of a person's rights, outside of any sandbox, the next
time that somebody calls `hermes-jobs`.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

PACKAGES = ("hermes_jobs", "workers", "schedules")
SYSTEM_PREFIXES = ("/usr", "/usr/local", "/opt/homebrew")


@cache
def import_root() -> str:
    """The real path of the folder with our packages: `site-packages`, or a checkout."""
    return os.path.realpath(Path(__file__).parents[2])


@cache
def places() -> tuple[str, ...]:
    """The real paths of everything that a start of hermes-jobs runs.

    Of an environment or interpreter of its own the whole folder, of the system's only our packages: a person
    may approve that software is installed for the system.
    """
    packages = [os.path.join(import_root(), name) for name in PACKAGES]
    prefixes = {os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)}
    own = sorted(prefix for prefix in prefixes if prefix not in SYSTEM_PREFIXES)
    covered = [name for name in packages if not any(name.startswith(f"{prefix}/") for prefix in own)]
    return (*own, *(name for name in covered if os.path.isdir(name)))  # noqa: PTH112


def is_checkout() -> bool:
    """Whether hermes-jobs runs from a checkout, whose folder Python searches for modules."""
    return os.path.basename(import_root()) not in ("site-packages", "dist-packages")  # noqa: PTH119


def program_folders(path: str) -> tuple[str, ...]:
    """The existing folders of a PATH, as real paths, without those of an environment: what is in such a
    folder belongs to the project that has it."""
    folders = dict.fromkeys(
        os.path.realpath(folder)
        for folder in path.split(os.pathsep)
        if os.path.isabs(folder)  # noqa: PTH117
    )
    return tuple(folder for folder in folders if os.path.isdir(folder) and not is_projects(folder))  # noqa: PTH112


def missing_program_folders(path: str) -> tuple[str, ...]:
    """The absolute folders of a PATH that do not exist."""
    folders = dict.fromkeys(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))  # noqa: PTH117
    return tuple(os.path.realpath(folder) for folder in folders if not os.path.lexists(folder))


def is_projects(folder: str) -> bool:
    """Whether a folder of programs belongs to an environment, and so to the project that has it."""
    above, name = os.path.split(folder)
    is_environment = name in ("bin", "Scripts") and os.path.exists(os.path.join(above, "pyvenv.cfg"))  # noqa: PTH110
    return is_environment or folder.endswith("/node_modules/.bin")
