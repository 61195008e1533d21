"""Groups of commands that are listed in a table and imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.kernel.feature import Command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PACKAGE = "hermes_jobs.interfaces.cli"
"""Targets that begin with a dot are in this package."""


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported on first use."""

    def __init__(
        self,
        *,
        table: Mapping[str, Command],
        aliases: Mapping[str, Command] | None = None,
        replacements: Mapping[str, str] | None = None,
        **attributes: object,
    ) -> None:
        """`aliases`: other names of commands, which no list has. `replacements`: what other tools' commands
        of a name are here."""
        super().__init__(**attributes)  # type: ignore[arg-type]  # click's own names
        self.table = table
        self._aliases = aliases or {}
        self._replacements = replacements or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the table's order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported; None for an unknown name."""
        entry = self.table.get(cmd_name) or self._aliases.get(cmd_name)
        if entry is None:
            return None
        from importlib import import_module

        module, _, attribute = entry.target.partition(":")
        # Events of the kernel and of features import each other, which works from this end only.
        import_module("hermes_jobs.kernel.events")
        command = getattr(import_module(module, PACKAGE), attribute)
        assert isinstance(command, click.Command), f"{entry.target} is not a command"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The named command. Raises `NoSuchCommand`, which names the nearest known ones, or a usage error."""
        if len(args[0].split()) > 1 and (ctx.parent is None or ctx.info_name == "run"):  # as other tools do
            raise click.UsageError(
                f"This is not a command. To send it as a message: hermes-jobs send {quote(args[0])}", ctx
            )
        if replacement := self._replacements.get(args[0]):
            raise click.UsageError(
                f"No such command {args[0]!r}. Did you mean hermes-jobs {replacement}?", ctx
            )
        if (
            self.get_command(ctx, args[0]) is None
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            raise click.NoSuchCommand(args[0], possibilities=self.table, ctx=ctx)
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
            for name, entry in self.table.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.table.items()])
