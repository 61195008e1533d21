"""The command line: the table of commands and their modules.

A command's module is imported when the command is called, so that `--help` stays fast: nothing but click is
imported here.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hermes_jobs import __version__
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli import stdio
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.lazy_group import LazyGroup
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.kernel.feature import Command
from hermes_jobs.kernel.feature import commands as feature_commands
from hermes_jobs.system.isolation import LOOKS_FOR_CHANGES, refuse_inside_tool
from hermes_jobs.system.open_files import allow_open_files

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


LOADED, GARBAGE = 250_000, 50_000
"""New objects after which the collector looks for cycles, at first and later; Python's own figure is 700."""
OPEN_FILES = 512  # that a command may open, where the system permits it
FEWEST_OPEN_FILES = 64  # with which a turn ends; each tool that runs takes some

OF_FEATURES = feature_commands()
COMMANDS = {
    "setup": Command(".setup:setup", "Connect a language model: provider, key, model."),
    "send": Command(".send:send", "Submit a turn and wait for its answer."),
    "chat": Command("..chat:chat", "Open a chat with the agent."),
    "turns": Command(".turns.commands:turns", "List, show, follow turns; cancel, retry, approve, deny."),
    "approvals": Command(".approvals:approvals", "Rules for what may run without asking."),
    "sessions": Command(
        ".sessions.commands:sessions", "List, show, search, rename, fork, end, delete sessions."
    ),
    "up": Command("workers.cli:up", "Run broker, worker, scheduler and Flower on this machine."),
    "down": Command("workers.cli:down", "Stop this home's `up`."),
    "service": Command(".service:service", "Run `up` as a service: systemd, launchd."),
    "run": Command(".groups:run", "Run one process: worker, scheduler, Flower, gateway."),
    **OF_FEATURES,
    "show": Command(".show:show", "Show what an id means, also one of Flower's."),
    "queues": Command(".queues:queues", "Show queues, running jobs and workers."),
    "processes": Command(".processes:processes", "List and kill the agent's background processes."),
    "models": Command(".models:models", "List models, with window and price."),
    "tools": Command(".tools:tools", "List the agent's tools, and where they come from."),
    "doctor": Command(".doctor.commands:doctor", "Check the installation, and say what to fix."),
    "export": Command(".export:export", "Export events, sessions or training data."),
    "restore": Command(".import_:restore_backup", "Restore a backup into an empty home."),
    "import": Command(".import_:import_file", "Import an export, or restore a backup."),
    "backup": Command(".export:backup", "Back up the home to one file, also while it runs."),
    "log": Command(".groups:log", "The log: print events, verify it, rebuild read models."),
    "completion": Command(".completion:completion", "Print a shell's completion script."),
    "config": Command(".config:config", "Show and change the configuration."),
    "help": Command(".help:help_command", "Show the help of a command or a topic."),
}

ALIASES = {
    "worker": Command("workers.cli:worker"),
    "beat": Command("workers.cli:beat"),
    "flower": Command("workers.cli:flower"),
    "metrics": Command(".metrics:metrics"),
    "events": Command(".events:events"),
    "views": Command(".views:views"),
    **feature_commands("run"),
}
"""Commands of `run` and `log` that are called without it, too; no list has them."""

_DAY_ONE = ("chat", "send", "setup", "schedule", "inbox", "memory", "turns", "up", "doctor")
FIRST = tuple(name for name in _DAY_ONE if name in COMMANDS)
"""The commands of the first day, which `--help` explains."""

_ORDER = {
    "Talk": (),
    "Schedule": ("triggers", "trigger", "changed"),
    "Inspect": ("show", "sessions", "experiments", "usage", "report", "reviews", "queues"),
    "Knowledge": ("skills", "agents"),
    "Permissions": ("approvals", "processes"),
    "Run": ("down", "service", "run"),
    "Data": ("backup", "restore", "import", "export", "redact", "log"),
    "Set up": ("models", "tools", "mcp", "config", "completion", "help"),
}
SECTIONS = {
    section: tuple(name for name in names if name in COMMANDS)
    + tuple(
        name for name, of in OF_FEATURES.items() if of.section == section and name not in (*names, *FIRST)
    )
    for section, names in _ORDER.items()
}
"""The other commands, which `--help` names; a feature's command that has no place in the order follows."""

REPLACEMENTS = {
    **dict.fromkeys(("ask", "exec", "prompt"), "send TEXT"),
    **dict.fromkeys(("init", "login"), "setup"),
    **dict.fromkeys(("continue", "resume"), "chat -c"),
    "start": "up -d",
    "stop": "down",
    "version": "--version",
}
"""What other tools' commands of that name are here."""


class TopGroup(LazyGroup):
    """All commands: `--help` explains the first ones and names the others."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, without importing any."""
        width = max(map(len, (*FIRST, *SECTIONS)))
        with formatter.section("Commands"):
            formatter.write_dl([(f"{name:<{width}}", self.table[name].summary) for name in FIRST])
        rows = [(f"{title:<{width}}", ", ".join(names)) for title, names in SECTIONS.items() if names]
        with formatter.section("More commands (`hermes-jobs help COMMAND` explains one)"):
            formatter.write_dl(rows)


@click.group(
    cls=TopGroup,
    table=COMMANDS,
    aliases=ALIASES,
    replacements=REPLACEMENTS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=example('hermes-jobs send "What is in this folder?"'),
)
@click.version_option(__version__, "-V", "--version", prog_name="hermes-jobs")
def hermes_jobs() -> None:
    """A personal agent that learns, run as a job system: everything it does is a job, and an event.

    Without a command, on a terminal, it opens a chat. `hermes-jobs help TOPIC` explains exit-codes,
    environment, files and json.
    """
    is_condition = click.get_current_context().invoked_subcommand == "changed"
    if not (is_condition and os.environ.get(LOOKS_FOR_CHANGES)):
        refuse_inside_tool(os.environ)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line and leave the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    code = run(words or _without_arguments())
    gc.freeze()  # an interpreter that ends looks for cycles among all that is left
    sys.exit(code)


def _without_arguments() -> Sequence[str]:
    """The arguments of a call without any: `chat` on a terminal."""
    streams = (sys.stdin, sys.stdout)
    return ("chat",) if all(stream is not None and stream.isatty() for stream in streams) else ()


def _collected(_phase: str, _info: Mapping[str, int]) -> None:
    gc.callbacks.remove(_collected)
    gc.set_threshold(GARBAGE)


def _allow_open_files() -> None:
    """Raises `Rejected` where a turn would fail in its middle for want of them."""
    if (allowed := allow_open_files(OPEN_FILES)) < FEWEST_OPEN_FILES:
        raise Rejected(
            f"This process may have {allowed} files open at a time, which is too few.",
            hint=f"Allow more: ulimit -n {OPEN_FILES}.",
        )


def run(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code (see `hermes_jobs.interfaces.cli.exit_codes`)."""
    # Importing creates many long-lived objects. Collecting garbage among them costs a sixth of a command.
    gc.set_threshold(LOADED)
    gc.callbacks.append(_collected)
    context = CliContext(os.environ)
    stdio.prepare()
    if "_HERMES_JOBS_COMPLETE" in os.environ:
        from hermes_jobs.interfaces.cli.completion import use_bash_words

        use_bash_words()
    stdout = sys.stdout
    try:
        _allow_open_files()
        code = hermes_jobs.main(
            list(arguments),
            prog_name="hermes-jobs",
            standalone_mode=False,
            obj=context,
            color=False if os.environ.get("NO_COLOR") else None,
        )
        sys.stdout.flush()
    except SystemExit:
        if sys.stdout is stdout:
            raise
        return 0  # click replaced it: the reader of our output closed the pipe (`… | head`)
    except KeyboardInterrupt:
        return 130  # before or after the command, which handles its own interrupts
    except Exception as error:  # noqa: BLE001 - the one place that turns any error into a message
        from hermes_jobs.interfaces.cli.exit_codes import report

        return report(error, context)
    finally:
        context.close()
    return code if isinstance(code, int) else 0
