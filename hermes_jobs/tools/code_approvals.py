"""Approvals of all code of a folder where no sandbox confines it: the pattern `code:*`."""

from __future__ import annotations

from hermes_jobs.kernel.streams.approval_rules import CODE, Permissions
from hermes_jobs.tools.inside import real_path_inside


def code_allowed(permissions: Permissions, workdir: str) -> str:
    """Where all code of the folder is allowed: a rule, this turn or session; empty if nowhere."""
    for source, patterns in permissions.allowing():
        for calls in patterns:
            if calls.tool == CODE and (not calls.folder or real_path_inside(workdir, calls.folder)):
                return source
    return ""
