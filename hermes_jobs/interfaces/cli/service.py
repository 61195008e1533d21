"""`hermes-jobs service`: `up` as a service of the user, begun at login and again after a failure.

Keys of a service belong into `.env` in the home: the unit holds none, and does not see this shell's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.service_managers import MANAGERS, Manager, Service

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

NAME = "hermes-jobs"
STOP_MARGIN = 60  # further seconds for a stop, beyond `workers.stop_seconds`
PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ")
"""Variables of this shell that the service gets: commands of the agent need them."""


@group(epilog=example("hermes-jobs service install", "hermes-jobs service status"))
def service() -> None:
    """Run `up` in the background from login on: by systemd on Linux, by launchd on macOS."""


@service.command("install", epilog=example("hermes-jobs service install --print"))
@click.option("--print", "only_print", is_flag=True, help="Print the unit without installing it.")
@click.option(
    "--for",
    "manager",
    type=click.Choice(("systemd", "launchd")),
    help="With --print: the service manager.  [default: this system's]",
)
def install(context: CliContext, only_print: bool, manager: Manager | None) -> None:
    """Install and start this home's service.

    Installing it again replaces it, for instance after an upgrade.
    """
    chosen_service = _service_of(context.settings, context.environ)
    if manager and not only_print:
        raise click.UsageError("--for goes with --print: a service is installed for this machine.")
    if only_print:
        click.echo(MANAGERS[manager or _manager()].text(chosen_service), nl=False)
        return
    by = MANAGERS[_manager()](context.environ)
    by.check()
    if _is_up(context.settings) and not by.is_running(chosen_service.name):
        raise Rejected(
            "`up` runs for this home already, by hand.",
            kind="already_up",
            hint="Stop it first: hermes-jobs down",
        )
    file = by.install(chosen_service)
    note(f"Installed and started: {file}")
    _warn_of_keys(context)
    for line in by.remarks():
        note(line)
    note("`hermes-jobs service status` shows its state; `hermes-jobs service remove` removes it.")


@service.command("remove", epilog=example("hermes-jobs service remove"))
def remove(context: CliContext) -> None:
    """Stop this home's service gracefully, and remove it."""
    by = MANAGERS[_manager()](context.environ)
    name = _name_of(context.settings, context.environ)
    file = by.file(name)
    if not file.exists():
        note(f"There is no service of this home ({file}).")
        return
    by.check()
    by.remove(name)
    note(f"Removed: {file}")


@service.command("status", epilog=example("hermes-jobs service status"))
def status(context: CliContext, as_json: Json) -> None:
    """Show whether the service is installed and running."""
    by = MANAGERS[_manager()](context.environ)
    name = _name_of(context.settings, context.environ)
    file = by.file(name)
    is_installed = file.exists()
    is_running = is_installed and by.is_running(name)
    is_up = _is_up(context.settings)

    def print_text() -> None:
        if not is_installed:
            note("Not installed." + (" `up` runs for this home, by hand." if is_up else ""))
            return
        click.echo(f"{name}: {'running' if is_running else 'stopped'} ({file})")
        note(by.logs(name))

    fields = {"name": name, "file": str(file), "installed": is_installed, "running": is_running, "up": is_up}
    print_result(lambda: fields, print_text, as_json=as_json)


# --- the service --------------------------------------------------------------------------------


def _service_of(settings: Settings, environ: Mapping[str, str]) -> Service:
    if any(not character.isprintable() for character in str(settings.paths.home)):
        raise Rejected(
            "The home's path contains a character that a unit file cannot.",
            kind="usage",
            hint="Move the home elsewhere.",
        )
    passed = {name: environ[name] for name in PASSED_VARIABLES if environ.get(name)}
    return Service(
        name=_name_of(settings, environ),
        program=(*_program(), "up"),
        environ={"HERMES_JOBS_HOME": str(settings.paths.home), **passed},
        folder=Path(environ.get("HOME") or Path.home()),
        log=settings.paths.logs / "service.log",
        stop_seconds=round(settings.workers.stop_seconds) + STOP_MARGIN,
    )


def _program() -> tuple[str, ...]:
    """The program of this installation, by an absolute path."""
    script = Path(sys.executable).with_name(NAME)
    return (str(script),) if script.is_file() else (sys.executable, "-P", "-m", "hermes_jobs")


def _name_of(settings: Settings, environ: Mapping[str, str]) -> str:
    """The name of the home's service: two homes have two services."""
    from hermes_jobs.settings.home import HOME_VARIABLE, find_home

    home = settings.paths.home
    if home == find_home({name: value for name, value in environ.items() if name != HOME_VARIABLE}):
        return NAME
    return f"{NAME}-{sha256(os.fsencode(home)).hexdigest()[:8]}"


def _is_up(settings: Settings) -> bool:
    from hermes_jobs.runtime.up_state import is_running

    return is_running(settings.paths)


def _warn_of_keys(context: CliContext) -> None:
    """Warn about keys and settings of this shell that the service does not get."""
    from dotenv import dotenv_values

    from hermes_jobs.settings.home import HOME_VARIABLE

    settings = context.settings
    variables = dotenv_values(settings.paths.env_file) if settings.paths.env_file.exists() else {}
    names_here = {
        *settings.secrets.names,
        *(name for name in context.environ if name.startswith("HERMES_JOBS_")),
    }
    missing = sorted(
        name for name in names_here - {HOME_VARIABLE} if name in context.environ and name not in variables
    )
    if missing:
        note(
            f"Set only in this shell, so the service does not see it: {', '.join(missing)}. Write keys "
            f"into {settings.paths.env_file}, settings with `hermes-jobs config set`, and install it again."
        )


def _manager() -> Manager:
    return "launchd" if sys.platform == "darwin" else "systemd"
