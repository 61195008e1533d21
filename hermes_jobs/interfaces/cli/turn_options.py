"""What a new turn is meant for: toolsets, a session, a working folder."""

from __future__ import annotations

import os

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext


def resolve_toolsets(context: CliContext, given: str | None) -> tuple[str, ...] | None:
    """The named toolsets. Raises a usage error for one that does not exist."""
    if given is None:
        return None
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if not names:
        raise click.BadParameter("it names no toolset.", param_hint="--toolsets")
    known = context.application.toolbox.toolsets
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"there is no toolset {name!r}; there are {', '.join(known)}.", param_hint="--toolsets"
            )
    return names


def resolve_session(context: CliContext, given: str | None, newest: bool) -> str | None:
    """The lineage that `--session` or `--continue` means; null for a new one. Raises a usage error."""
    if given and newest:
        raise click.UsageError("--session and --continue exclude each other.")
    if given:
        views = context.application.views
        return views.session(views.find_session(given)).lineage
    if newest:
        sessions = context.application.views.sessions(limit=1)
        if not sessions:
            raise click.UsageError("There is no session to continue yet: leave out --continue.")
        return sessions[0].lineage
    return None


def resolve_model(context: CliContext, given: str | None, lineage: str | None) -> str | None:
    """The model that was named, an alias by what it stands for; null where none was.

    Raises what `Application.check` does for the model that will answer in the lineage, or in a new session.
    """
    named = context.settings.models.aliases.get(given, given) if given else None
    application = context.application
    answering = named
    if named is None and lineage is not None:
        answering = application.views.session(lineage).model or None
    application.check(answering)
    return named


def working_folder() -> str:
    """The folder that this process is in, where the tools of a new session work. Raises `Rejected`."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError as error:
        message = "The folder that you are in has been deleted, and a new session works in it."
        raise Rejected(message, kind="usage", hint="Change into another one.") from error
