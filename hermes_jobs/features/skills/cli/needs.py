"""What an installed skill needs of this machine: it asks for secrets and lists the rest."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hermes_jobs.features.skills.front_matter import Needs
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.questions.confirmation import ask_secret
from hermes_jobs.settings import find_home, is_secret_variable, known_secrets, set_secret, set_value

if TYPE_CHECKING:
    from hermes_jobs.interfaces.cli.context import CliContext

KEY = "terminal.grant"


def settle_needs(context: CliContext, name: str, *, ask: bool) -> None:
    """Ask for the secrets that a skill lacks, on a terminal and with `ask`; say what else is missing."""
    catalog = context.application.skills
    entry = catalog.find(name)
    if entry.text is None:
        return
    lacking = catalog.lacking(entry)
    if lacking.commands:
        note(f"{name} needs {Needs(commands=lacking.commands)}, not on the PATH of the agent's commands.")
    if entry.text.needs.packages:
        note(f"{name} needs {Needs(packages=entry.text.needs.packages)}: see its SKILL.md.")
    granted = list(context.settings.terminal.grant)
    for variable in lacking.variables:
        if variable in known_secrets():
            note(f"{name} wants {variable}, which is hermes-jobs' own: commands never get it.")
        elif not is_secret_variable(variable):
            note(f"{name} needs {variable}: hermes-jobs config set terminal.environment.{variable} VALUE")
        elif ask and sys.stdin.isatty():
            if _ask_for(context, variable):
                granted.append(variable)
                _grant(context, granted)
        else:
            names = ", ".join([*granted, variable])
            note(
                f"{name} needs {variable}: `hermes-jobs config set {variable}` asks for it, and `hermes-jobs "
                f"config set {KEY} '[{names}]'` lets commands have it."
            )


def _ask_for(context: CliContext, variable: str) -> bool:
    """Ask for a secret and whether commands may have it; whether they may."""
    if context.settings.secrets.get(variable) is None:
        typed = ask_secret(f"{variable} (not shown; Enter to leave it out)", required=False)
        if not typed:
            return False
        set_secret(find_home(context.environ), variable, typed)
        note(f"{variable} is in .env (mode 600).")
    return click.confirm(
        f"May the agent's commands read {variable}? Where they print it, it is hidden from the model.",
        default=False,
        err=True,
    )


def _grant(context: CliContext, names: list[str]) -> None:
    set_value(find_home(context.environ), KEY, f"[{', '.join(dict.fromkeys(names))}]")
    note(f"{KEY} is [{', '.join(dict.fromkeys(names))}].")
