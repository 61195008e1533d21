"""hermes-jobs: a personal agent that learns, run as an event-sourced job system."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_jobs.kernel.engine.ports import Cancel as Cancel
    from hermes_jobs.kernel.engine.ports import File as File
    from hermes_jobs.kernel.engine.ports import ToolContext as ToolContext
    from hermes_jobs.plugins.functions import tool as tool

__version__ = "0.1.0"

# For functions that are tools (docs/extending.md); imported on first use.
_PLACES = {
    "tool": "hermes_jobs.plugins.functions",
    "File": "hermes_jobs.kernel.engine.ports",
    "Cancel": "hermes_jobs.kernel.engine.ports",
    "ToolContext": "hermes_jobs.kernel.engine.ports",
}


if not TYPE_CHECKING:  # else a type checker takes any name for one of them

    def __getattr__(name: str) -> object:
        """A public name, imported from its module. Raises `AttributeError` for another one."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)
