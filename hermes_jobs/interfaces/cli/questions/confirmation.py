"""Asking a user at the terminal: whether something may be done, and for a secret."""

from __future__ import annotations

import getpass
import sys

import click


def confirmed(question: str, undone: str, *, yes: bool, default: bool = True) -> bool:
    """Whether the user says yes. Raises a usage error where there is nobody to ask.

    `undone` says what has not happened then.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{undone}: there is no terminal to ask on. Add --yes if this is what you mean."
        )
    return click.confirm(question, default=default, err=True)


def ask_secret(question: str, *, required: bool = True) -> str:
    """A line that is not shown while it is typed; "" only where none is required. Raises `click.Abort`.

    The question appears once the terminal shows nothing any more: what is pasted right after it is neither
    shown nor dropped.
    """
    while True:
        try:
            typed = getpass.getpass(f"{question}: ", stream=sys.stderr).strip()
        except (KeyboardInterrupt, EOFError):
            click.echo(err=True)
            raise click.Abort from None
        if typed or not required:
            return typed
