"""Patching a file for the model: what cannot be patched is the tool's failure."""

from __future__ import annotations

from hermes_jobs.domain import patching
from hermes_jobs.domain.errors import Rejected
from hermes_jobs.domain.patching import DIFF_CHARS, Patched, short_diff
from hermes_jobs.tools.tool import ToolFailed

__all__ = ["DIFF_CHARS", "Patched", "patched", "short_diff"]


def patched(text: str, old: str, new: str, *, replace_all: bool) -> Patched:
    """`hermes_jobs.domain.patching.patched`. Raises `ToolFailed`."""
    try:
        return patching.patched(text, old, new, replace_all=replace_all)
    except Rejected as refused:
        raise ToolFailed(refused.message) from refused
