"""Questions to the user at the terminal, if there is one."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hermes_jobs.interfaces.cli.output import flowed, one_line, terminal_width
from hermes_jobs.interfaces.cli.questions.confirmation import ask_secret


class Questions:
    """Asks, or (`can_ask` false) raises an error that names the flag. Raises `click.Abort` at Ctrl-C."""

    def __init__(self, *, can_ask: bool) -> None:
        self.can_ask = can_ask

    def print_line(self, text: str = "") -> None:
        """Print a text for the user."""
        click.echo(flowed(text, terminal_width()))

    def require(self, what: str, flag: str) -> None:
        """Raise a usage error without a terminal."""
        if not self.can_ask:
            raise click.UsageError(f"There is no terminal to ask for {what}: give {flag}.")

    def choose(self, question: str, options: Sequence[tuple[str, str]], default: str | None) -> str:
        """One of the names, by number, name or another text; each with a description."""
        width = max(len(name) for name, _ in options)
        for number, (name, meaning) in enumerate(options, 1):
            self.print_line(f"{number:>3}  {name:<{width}}  {one_line(meaning)}".rstrip())
        answer: str = click.prompt(question, default=default, show_default=default is not None)
        answer = answer.strip()
        if answer.isdigit() and 1 <= int(answer) <= len(options):
            return options[int(answer) - 1][0]
        return answer

    def text(self, question: str, default: str | None = None) -> str:
        """A text that is not empty."""
        answer: str = click.prompt(question, default=default)
        return answer.strip()

    def secret(self, question: str) -> str:
        """A text without echo."""
        return ask_secret(question)

    def confirm(self, question: str) -> bool:
        """Whether the user agrees; yes is the default."""
        return click.confirm(question, default=True)
