"""Whether a path is in a folder."""

from __future__ import annotations

import os


def is_inside(path: str, folder: str) -> bool:
    """Whether a normalised absolute path is the folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def real_path_inside(path: str, folder: str) -> bool:
    """Whether a folder is that one or below it, links followed; false without a folder."""
    return bool(path) and is_inside(os.path.realpath(path), os.path.realpath(folder))
