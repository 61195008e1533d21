"""Files that a command writes for the user: `--html FILE` and `export FILE`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.system.atomic_file import atomic_write

F = TypeVar("F", bound=Callable[..., Any])


html_option = click.option(
    "--html",
    "html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write one HTML page to FILE.",
)
"""`--html FILE`."""


def write_page(file: Path, page: str) -> None:
    """Write an HTML page, readable only for its owner. Raises `Rejected` if it cannot be written."""
    with output_file(file, force=True) as opened:
        opened.write(page.encode("utf-8", "replace"))
    note(f"Wrote {file}.")


@contextmanager
def output_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Write a file atomically, readable only for its owner; an exception leaves no file.

    Raises `Rejected` if the file exists, unless `force`, if the path is a special file, and if it cannot
    be written.
    """
    if path.exists() and not (force and path.is_file()):
        again = "Choose another name, or overwrite it with --force."
        hint = again if path.is_file() else "Name a file."
        raise Rejected(f"{path} is there already.", kind="usage", hint=hint)
    try:
        with atomic_write(path) as file:
            yield file
    except OSError as error:
        raise Rejected(f"{path} cannot be written: {error.strerror or error}.", kind="usage") from error
