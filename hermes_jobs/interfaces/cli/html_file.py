"""`--html FILE`: a page into a file of the person's own, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.system.atomic_file import whole_file

F = TypeVar("F", bound=Callable[..., Any])


def html_option(function: F) -> F:
    """`--html FILE`."""
    return click.option(
        "--html",
        "html",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write it as one HTML page into FILE, to be opened in any browser.",
    )(function)


def write_page(file: Path, page: str) -> None:
    """Put the page in the file's place, readable for its owner alone.

    Raises `Rejected` where that cannot be.
    """
    with whole_file(file, force=True) as opened:
        opened.write(page.encode("utf-8", "replace"))
    note(f"Wrote {file}.")
