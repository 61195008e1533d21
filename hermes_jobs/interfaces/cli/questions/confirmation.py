"""Prompts at the terminal: for a confirmation, and for a secret."""

from __future__ import annotations

import getpass
import sys

import click


def confirmed(question: str, undone: str, *, yes: bool, default: bool = True) -> bool:
    """Whether the user confirms. Raises a usage error without a terminal.

    `undone` describes the omitted action.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{undone}: there is no terminal to ask on. Add --yes if this is what you mean."
        )
    return click.confirm(question, default=default, err=True)


def ask_secret(question: str, *, required: bool = True) -> str:
    """Read a line without echo; "" only if none is required. Raises `click.Abort`.

    The question appears after echo is off, so that a paste right after it is neither shown nor
    dropped.
    """
    while True:
        try:
            typed = getpass.getpass(f"{question}: ", stream=sys.stderr).strip()
        except (KeyboardInterrupt, EOFError):
            raise click.Abort from None
        if typed or not required:
            return typed
