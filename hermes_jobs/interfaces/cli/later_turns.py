"""What schedules and triggers are told of their turns, which start later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_jobs.interfaces.cli.budgets import dollars
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.turns.options import resolve_toolsets

NONE = "none"
"""What an option of `edit` takes to give something up."""


def changes_of_turns(
    context: CliContext, session: str | None, model: str | None, toolsets: str | None, budget: str | None
) -> dict[str, Any]:
    """The fields of a plan that `--session`, `--model`, `--toolsets` and `--budget` change, where they are
    given. Raises usage errors."""
    readers: dict[str, tuple[str | None, Callable[[str], object]]] = {
        "session": (session, lambda name: context.find_session(name).lineage),
        "model": (model, str),
        "toolsets": (toolsets, lambda names: resolve_toolsets(context, names)),
        "budget_usd": (budget, dollars),
    }
    given = {field: (text, read) for field, (text, read) in readers.items() if text is not None}
    return {field: None if text == NONE else read(text) for field, (text, read) in given.items()}
