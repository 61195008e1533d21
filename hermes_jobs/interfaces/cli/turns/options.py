"""Resolves the options of a new turn: toolsets, session, working folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import SessionChoice
from hermes_jobs.interfaces.cli.output import note, one_line, short_path

if TYPE_CHECKING:
    from hermes_jobs.kernel.views.models import SessionView
    from hermes_jobs.settings.turn_settings import TurnSettings

COMMON_VARIABLES = frozenset(
    {"HOME", "PATH", "PWD", "OLDPWD", "SHELL", "USER", "LOGNAME", "TERM", "TMPDIR", "_"}
)
"""Variables that every shell has and sets itself."""


def resolve_toolsets(context: CliContext, text: str | None) -> tuple[str, ...] | None:
    """The named toolsets. Raises a usage error for one that does not exist."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise click.BadParameter("it names no toolset.", param_hint="--toolsets")
    all_names = context.application.toolbox.toolsets
    for name in names:
        if name not in all_names:
            raise click.BadParameter(
                f"there is no toolset {name!r}; there are {', '.join(all_names)}.", param_hint="--toolsets"
            )
    return names


def resolve_session(context: CliContext, choice: SessionChoice) -> SessionView | None:
    """The session that is meant; None for a new one.

    Raises a usage error where there is none to continue, `Rejected` where the named one is unknown.
    """
    if choice.session is None and not choice.newest:
        return None
    if choice.session is not None:
        return context.find_session(choice.session)
    views = context.application.views
    folder = None if choice.anywhere else choice.workdir or working_folder()
    session = views.newest_conversation(folder)
    if session is None:
        raise click.UsageError(_nothing_to_continue(views.newest_conversation(), folder))
    return session


def _nothing_to_continue(elsewhere: SessionView | None, folder: str | None) -> str:
    if elsewhere is None or folder is None:
        return "There is no session to continue yet: omit --continue."
    place = short_path(elsewhere.workdir) if elsewhere.workdir else "no folder"
    return (
        f"There is no session in {short_path(folder)} to continue.\n"
        f"The newest elsewhere: {elsewhere.id} ({one_line(elsewhere.label)}), in {place},"
        f" {format_time(elsewhere.last_at)}.\n"
        "Add --anywhere to continue that one; omit --continue to start a new one here."
    )


def describe_session(session: SessionView | None, folder: str) -> str:
    """One line: which session, and the folder that its tools work in. `folder` is that of a new session."""
    if session is None:
        return f"New session in {short_path(folder)}"
    title = f" ({one_line(session.label)})" if session.label else ""
    place = f" in {short_path(session.workdir)}" if session.workdir else ", without a working folder"
    return f"Session {session.id}{title}{place}"


def resolve_model(context: CliContext, name: str | None, lineage: str | None) -> str | None:
    """The named model, aliases resolved; None without a name.

    Raises the errors of `Application.check` for the turn's model.
    """
    model = context.settings.models.aliases.get(name, name) if name else None
    context.application.check(_answering(context, model, lineage))
    return model


def _answering(context: CliContext, name: str | None, lineage: str | None) -> str | None:
    """The turn's model: the named one, else the session's; None: the configured one."""
    if name is None and lineage is not None:
        return context.application.views.session(lineage).model or None
    return name


def resolve_variables(context: CliContext, texts: Sequence[str]) -> dict[str, str]:
    """The variables that `--env NAME` and `--env NAME=VALUE` name for the agent's commands.

    Raises a usage error for an unset variable, and for a suspected secret.
    """
    if not texts:
        return {}
    from hermes_jobs.tools.environment import is_withheld

    variables = {}
    for judged in texts:
        name, equals, value = judged.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise click.BadParameter(f"{name!r} is not the name of a variable.", param_hint="--env")
        if not equals and name not in context.environ:
            raise click.BadParameter(f"{name} is not set here.", param_hint="--env")
        value = value if equals else context.environ[name]
        if is_withheld(name, value) or context.settings.secrets.redact(value) != value:
            text = f"{name} looks like a secret or belongs to hermes-jobs; the agent's commands get neither."
            raise click.BadParameter(text, param_hint="--env")
        variables[name] = value
    return variables


def resolve_settings(
    context: CliContext,
    model: str | None,
    lineage: str | None,
    *,
    wait: bool,
    variables: Mapping[str, str] | None = None,
) -> TurnSettings:
    """The settings of this command's environment, recorded with its turn; `variables` for its commands.

    Prints a note on settings that cannot be recorded. Raises `Misconfigured` if the live workers lack
    secrets of this shell and this process does not wait, and so cannot run the turn itself.
    """
    from hermes_jobs.settings.turn_settings import unsendable

    application = context.application
    carried = application.travelling(_answering(context, model, lineage), variables)
    staying = unsendable(context.settings)
    if not staying and not carried.requires:
        return carried
    if not application.workers.are_live():
        return carried
    if staying:
        note(f"{', '.join(staying)}: does not travel with a turn; the workers use their own settings.")
    if not wait and not application.workers.are_live(carried.requires):
        names = ", ".join(application.workers.lacking(carried.requires))
        raise Misconfigured(
            f"The workers do not have the settings of this shell ({names}), and --no-wait needs them.",
            hint="Omit --no-wait to run the turn in this command, or put the settings into .env or "
            "config.yaml in the home, which workers reread.",
        )
    return carried


def named_variables(
    context: CliContext, text: str, passed: Mapping[str, str], how: Callable[[Sequence[str]], str]
) -> Iterator[str]:
    """Lines about variables of this shell that a text names, as `$NAME`, and the agent's commands do not get.

    `how` says how to pass some of them on.
    """
    names = dict.fromkeys(re.findall(r"\$\{?([A-Za-z_]\w*)", text, re.ASCII))
    if not names:
        return
    from hermes_jobs.tools.environment import is_withheld

    missing = [
        option_name
        for option_name in names
        if option_name in context.environ and option_name not in {*passed, *COMMON_VARIABLES}
    ]
    withheld = [name for name in missing if is_withheld(name, context.environ[name])]
    if withheld:
        yield f"{', '.join(withheld)}: looks like a secret or belongs to hermes-jobs; commands get neither."
    others = [name for name in missing if name not in withheld]
    if others and context.application.workers.are_live():
        yield f"{', '.join(others)}: set in this shell, but not where the commands run. {how(others)}"


def by_flags(names: Sequence[str]) -> str:
    """How `send` passes variables on."""
    return f"To pass it on: {' '.join(f'--env {option_name}' for option_name in names)}"


def by_chat_flags(names: Sequence[str]) -> str:
    """How a chat passes variables on."""
    flags = " ".join(f"--env {option_name}" for option_name in names)
    return f"To pass it on: hermes-jobs chat {flags}"


def unheeded_environment(context: CliContext) -> Iterator[str]:
    """Lines about settings of this environment that live workers ignore or lack."""
    from hermes_jobs.settings.turn_settings import unsendable

    application = context.application
    staying, requires = unsendable(context.settings), application.carried(None).requires
    if not (staying or requires) or not application.workers.are_live():
        return
    if staying:
        yield f"{', '.join(staying)}: does not travel with a turn; the workers use their own settings."
    if requires and not application.workers.are_live(requires):
        names = ", ".join(application.workers.lacking(requires))
        yield f"The workers do not have the settings of this shell ({names}): turns run in this chat."


def working_folder() -> str:
    """The folder that this process is in, where the tools of a new session work. Raises `Rejected`."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError as error:
        message = "The current folder has been deleted, so a new session cannot work in it."
        raise Rejected(message, kind="usage", hint="Change to another folder.") from error
