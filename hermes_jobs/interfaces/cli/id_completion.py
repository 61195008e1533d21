"""What a shell offers for an id: recent turns and sessions, as far as the views have come; names of skills.

Nothing is caught up with and no log is opened: a key press must not wait. What cannot be read is not offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

OFFERED = 50


def complete_turn(
    click_context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Ids of turns, newest first."""
    return _recent(click_context, "turns", incomplete)


def complete_session(
    click_context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Ids of sessions, the last used first."""
    return _recent(click_context, "sessions", incomplete)


def complete_skill(
    click_context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Names of skills in the home."""
    from click.shell_completion import CompletionItem

    from hermes_jobs.interfaces.cli.context import CliContext
    from hermes_jobs.settings.home import Paths, find_home

    context = click_context.find_object(CliContext)
    if context is None:
        return []
    folder = Paths(find_home(context.environ)).skills
    names = sorted({file.parent.name for depth in ("*", "*/*") for file in folder.glob(f"{depth}/SKILL.md")})
    return [CompletionItem(name) for name in names if name.startswith(incomplete)][:OFFERED]


def complete_schedule(
    click_context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Ids of schedules, newest first."""
    return _recent(click_context, "schedules", incomplete)


def _recent(
    click_context: click.Context, what: Literal["turns", "sessions", "schedules"], incomplete: str
) -> list[CompletionItem[Any]]:
    from click.shell_completion import CompletionItem

    from hermes_jobs.interfaces.cli.context import CliContext
    from hermes_jobs.interfaces.cli.output import one_line
    from hermes_jobs.settings.home import Paths, find_home
    from hermes_jobs.views.completion_names import recent_names

    context = click_context.find_object(CliContext)
    if context is None:
        return []
    found = recent_names(Paths(find_home(context.environ)).views, what, incomplete, OFFERED)
    return [CompletionItem(name, help=one_line(text)[:60]) for name, text in found]
