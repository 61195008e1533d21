"""`--html FILE`: a page into a file of the person's own, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hermes_jobs.cli.output import note

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

    Raises a usage error where that cannot be.
    """
    unfinished = ""
    try:
        descriptor, unfinished = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(page.encode("utf-8", "replace"))
        Path(unfinished).replace(file)
    except OSError as error:
        if unfinished:
            Path(unfinished).unlink(missing_ok=True)
        raise click.BadParameter(
            f"{file} cannot be written: {error.strerror}.", param_hint="--html"
        ) from error
    note(f"Wrote {file}.")
