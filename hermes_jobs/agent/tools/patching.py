"""Patching a file for the model: what cannot be patched is the tool's failure."""

from __future__ import annotations

from hermes_jobs.agent.tools.tool import ToolFailed
from hermes_jobs.errors import Rejected
from hermes_jobs.text import patch
from hermes_jobs.text.patch import DIFF_CHARS, Patched, short_diff

__all__ = ["DIFF_CHARS", "Patched", "patched", "short_diff"]


def patched(text: str, old: str, new: str, *, replace_all: bool) -> Patched:
    """`hermes_jobs.text.patch.patched`. Raises `ToolFailed`."""
    try:
        return patch.patched(text, old, new, replace_all=replace_all)
    except Rejected as refused:
        raise ToolFailed(refused.message) from refused
