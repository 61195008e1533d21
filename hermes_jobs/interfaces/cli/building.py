"""How far the read models are built, on the terminal of the command that waits for them."""

from __future__ import annotations

import sys

import click

CLEAR_LINE = "\r\x1b[K"
CELLS = 20


def show_building(position: int, last: int) -> None:
    """Draw a bar on standard error, if it is a terminal; it goes away with the `last` event.

    It is called after each batch: what a single one builds is not shown.
    """
    if sys.stderr.isatty():
        share = position / max(last, 1)
        bar = f"{'█' * int(share * CELLS):░<{CELLS}}  {share:.0%} of {last:,} events"
        line = f"Building the read models  {bar}" if position < last else ""
        click.echo(CLEAR_LINE + line, err=True, nl=False)
