"""Folders that a command has made or changed, also where guarded files are not searched otherwise: beyond the
nearest folders, and in installed packages.

What has changed, and what is in it, is looked at first. So a command that makes many folders to hide one does
not use up the look at those that were there, and is reported where it uses up the look at its own.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH120

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hermes_jobs.tools.guarded_files import When, look
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sensitive_paths import guarded_names
from hermes_jobs.tools.tables import words

MAX_CHANGED = 50_000  # with the folders directly in changed ones
MAX_UNCHANGED = 5_000  # the nearest ones, in which changed ones are looked for
MANY = 500
STAYS = "+ "
"""What the path of a file begins with that is reported and stays."""

TOO_MANY = "so many folders that nobody has looked for hooks and settings in all of them"

REPOSITORY = ".git"


class Made(NamedTuple):
    """The folders that have changed. `whole`: a command has not used up the look by what it made."""

    folders: Sequence[str]
    whole: bool = True


def made_since(roots: Iterable[str], moment: int) -> Made:
    """Those at and below the roots, since a time in ns since 1970."""
    now = When(time.time_ns(), moment)
    first, later = deque(roots), deque[str]()
    found: list[str] = []
    num_changed = num_unchanged = 0
    while first or later:
        num_changed, num_unchanged = num_changed + bool(first), num_unchanged + (not first)
        if num_changed > MAX_CHANGED or num_unchanged > MAX_UNCHANGED:
            return Made(found, num_changed <= MAX_CHANGED and len(found) <= MANY)
        folder = (first or later).popleft()
        listing = look(folder, now)
        has_changed = listing.stamp[1] >= moment
        if has_changed:
            found.append(folder)
        (first if has_changed else later).extend(
            child for child in listing.folders if not child.endswith(f"/{REPOSITORY}")
        )
    return Made(found)


def is_in_packages(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is within installed packages, or what builds have made, of one of the roots."""
    guarded = {name.partition("/")[0] for name in guarded_names()}
    packages = set(words("sensitive_paths", "not_searched")) - {REPOSITORY, *guarded}
    above = os.path.dirname(path.partition(f"/{REPOSITORY}/")[0])
    return any(
        not packages.isdisjoint(above[len(root) :].split("/")) for root in roots if is_inside(above, root)
    )


def undone_note(paths: Sequence[str]) -> str:
    """Lines for the model on files that were taken away, on modes that were put back, and on what stays."""
    undone = [path for path in paths if not path.startswith(STAYS)]
    staying = [path.removeprefix(STAYS) for path in paths if path.startswith(STAYS)]
    lines = []
    if undone:
        lines.append(
            f"[{', '.join(undone[:5])}: files that run by themselves later, or that later prompts have, "
            "which a command may write only with an approval, or hidden ones, whose mode and owner it may "
            "not change. The change was undone; what was written is kept in the quarantine of hermes-jobs. "
            "Tell the user, who can take what git had checked out there by `git checkout -- FILE`.]"
        )
    if staying:
        more = f" and {len(staying) - 5} more" if len(staying) > 5 else ""
        lines.append(
            f"[{', '.join(staying[:5])}{more}: new, and not undone. Editors, shells and other agents run "
            "such files by themselves where somebody opens or enters the folder. Name them to the user.]"
        )
    return "\n".join(lines)
