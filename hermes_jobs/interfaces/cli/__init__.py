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
from hermes_jobs.interfaces.cli import stdio
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.kernel.feature import Command
from hermes_jobs.kernel.feature import commands as feature_commands
from hermes_jobs.system.isolation import refuse_inside_tool

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


GARBAGE = 50_000  # new objects after which the collector looks for cycles; Python's own figure is 700

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
    "reviews": Command(
        "...features.reviews.cli.commands:reviews", "Reviews of conversations, and what they saved."
    ),
    "memory": Command(
        "...features.memory.cli.commands:memory", "Show, change and undo what the agent remembers."
    ),
    "schedule": Command(
        "...features.schedules.cli.commands:schedule", "Add, preview, list, pause and run scheduled prompts."
    ),
    "up": Command("workers.cli:up", "Run broker, worker, scheduler and Flower on this machine."),
    "down": Command("workers.cli:down", "Stop this home's `up`."),
    "service": Command(".service:service", "Run `up` as a service: systemd, launchd."),
    "worker": Command("workers.cli:worker", "Run one worker."),
    "beat": Command("workers.cli:beat", "Run the scheduler (Celery beat), which wakes due schedules."),
    "flower": Command("workers.cli:flower", "Run Flower, the dashboard."),
    "skills": Command("...features.skills.cli.commands:skills", "Show, install, undo and approve skills."),
    "agents": Command("...features.delegation.cli:agents", "List the kinds of sub-agents."),
    **OF_FEATURES,
    "gateway": Command("...features.gateway.cli:gateway", "Run the Telegram gateway."),
    "queues": Command(".queues:queues", "Show queues, running jobs and workers."),
    "mcp": Command("...features.mcp.cli.commands:mcp", "Add, list and test MCP servers."),
    "processes": Command(".processes:processes", "List and kill the agent's background processes."),
    "metrics": Command(".metrics:metrics", "Print or serve metrics for Prometheus."),
    "experiments": Command(
        "...features.replay.cli.experiments.commands:experiments",
        "Replay past turns in variants, and compare.",
    ),
    "usage": Command(
        "...features.usage.cli.usage:usage", "Show tokens and cost by day, session, model, purpose."
    ),
    "report": Command(
        "...features.usage.cli.report:report", "Show cost, waits, memory and schedules over time."
    ),
    "bench": Command(".bench:bench", "Measure learning with a model of your choice."),
    "models": Command(".models:models", "List models, with window and price."),
    "doctor": Command(".doctor.commands:doctor", "Check the installation, and say what to fix."),
    "export": Command(".export:export", "Export events, sessions or training data."),
    "import": Command(".import_:import_file", "Import an export, or restore a backup."),
    "backup": Command(".export:backup", "Back up the home to one file, also while it runs."),
    "redact": Command(
        "...features.forgetting.cli:redact", "Remove a text permanently, wherever it is stored."
    ),
    "events": Command(".events:events", "Print events, or verify the log."),
    "views": Command(".views:views", "Show or rebuild the read models."),
    "completion": Command(".completion:completion", "Print a shell's completion script."),
    "config": Command(".config:config", "Show and change the configuration."),
    "help": Command(".help:help_command", "Show the help of a command or a topic."),
}

SECTIONS = {
    "Talk": ("chat", "send"),
    "Inspect": ("turns", "sessions", "experiments", "usage", "report", "reviews"),
    "Permissions": ("approvals", "processes"),
    "Knowledge": ("memory", "skills", "agents"),
    "Schedule": ("schedule",),
    "Run": ("up", "down", "service", "queues", "worker", "beat", "flower", "gateway", "metrics"),
    "Data": ("backup", "import", "export", "redact", "events", "views"),
    "Set up": ("setup", "models", "mcp", "config", "doctor", "bench", "completion", "help"),
}
for _name, _command in OF_FEATURES.items():
    SECTIONS[_command.section] += (_name,)
"""The commands in the order of `--help`: those of the first day come first."""

REPLACEMENTS = {
    **dict.fromkeys(("ask", "exec", "prompt", "run"), "send TEXT"),
    **dict.fromkeys(("init", "login"), "setup"),
    **dict.fromkeys(("continue", "resume"), "chat -c"),
    "restore": "import FILE",
    "start": "up -d",
    "stop": "down",
    "version": "--version",
}
"""What other tools' commands of that name are here."""


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported on first use."""

    def __init__(
        self,
        *,
        table: dict[str, Command],
        sections: Mapping[str, Sequence[str]] | None = None,
        **attributes: object,
    ) -> None:
        super().__init__(**attributes)  # type: ignore[arg-type]  # click's own names
        self._table = table
        self._sections = sections or {"Commands": tuple(table)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the table's order."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported; None for an unknown name."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        from importlib import import_module

        module, _, attribute = entry.target.partition(":")
        # Events of the kernel and of features import each other, which works from this end only.
        import_module("hermes_jobs.kernel.events")
        command = getattr(import_module(module, __name__), attribute)
        assert isinstance(command, click.Command), f"{entry.target} is not a command"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The named command. Raises `NoSuchCommand`, which names the nearest known ones, or a usage error."""
        if ctx.parent is None and len(args[0].split()) > 1:
            raise click.UsageError(
                f"This is not a command. To send it as a message: hermes-jobs send {quote(args[0])}", ctx
            )
        if ctx.parent is None and (replacement := REPLACEMENTS.get(args[0])):
            raise click.UsageError(
                f"No such command {args[0]!r}. Did you mean hermes-jobs {replacement}?", ctx
            )
        if args[0] not in self._table and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.NoSuchCommand(args[0], possibilities=self._table, ctx=ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments behind the group's options. Raises `NoSuchOption`, which says where they stand."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if ctx.parent is not None or error.possibilities:
                raise
            text = f"{error.message} Options come after a command, as in: hermes-jobs chat -c"
            raise click.NoSuchOption(error.option_name, text, ctx=ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """The matching commands, without importing any, and this group's flags."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self._table.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        width = max(map(len, self._table))
        for title, names in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", self._table[name].summary) for name in names])


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=example('hermes-jobs send "What is in this folder?"'),
)
@click.version_option(__version__, "-V", "--version", prog_name="hermes-jobs")
def hermes_jobs() -> None:
    """A personal agent that learns, run as a job system: everything it does is a job, and an event.

    Without a command, on a terminal, it opens a chat. `hermes-jobs help TOPIC` explains exit-codes,
    environment, files and json.
    """
    refuse_inside_tool(os.environ)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line and leave the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(words or _without_arguments()))


def _without_arguments() -> Sequence[str]:
    """The arguments of a call without any: `chat` on a terminal."""
    streams = (sys.stdin, sys.stdout)
    return ("chat",) if all(stream is not None and stream.isatty() for stream in streams) else ()


def run(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code (see `hermes_jobs.interfaces.cli.exit_codes`)."""
    # Importing creates many long-lived objects. Collecting garbage among them costs an eighth of a short
    # command's time.
    gc.set_threshold(GARBAGE)
    context = CliContext(os.environ)
    stdio.prepare()
    if "_HERMES_JOBS_COMPLETE" in os.environ:
        from hermes_jobs.interfaces.cli.completion import use_bash_words

        use_bash_words()
    stdout = sys.stdout
    try:
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
