"""`hermes-jobs export` and `backup`: a home, or some of its sessions, written to one file while it runs."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_session
from hermes_jobs.interfaces.cli.moments import log_moment
from hermes_jobs.interfaces.cli.options import example, since_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.output_file import output_file
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.text.figures import file_size, pluralize

if TYPE_CHECKING:
    from hermes_jobs.client.training import TrainingFormat

STDOUT = "-"

force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")


@command(
    epilog=example(
        "hermes-jobs export home.jsonl.gz",
        "hermes-jobs export --session s3k9 - | gzip > trip.jsonl.gz",
        "hermes-jobs export --format sharegpt --since 2026-11-01 training.jsonl",
        "hermes-jobs export --format preferences pairs.jsonl",
    )
)
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    "form",
    type=click.Choice(("events", "sharegpt", "openai", "preferences")),
    default="events",
    show_default=True,
    help="All events, for `import`; or conversations or rated pairs of answers, as training data.",
)
@click.option(
    "-s",
    "--session",
    "sessions",
    metavar="ID|TITLE",
    type=NonEmpty(),
    multiple=True,
    shell_complete=complete_session,
    help="Only this session, and those it continues from. Repeatable.",
)
@since_option("Training data: only turns sent since then.")
@click.option(
    "--system/--no-system",
    default=True,
    help="Training data: include the system prompt, which contains memory.",
)
@force_option
def export(
    context: CliContext,
    *,
    file: str,
    form: str,
    sessions: tuple[str, ...],
    since: datetime | None,
    system: bool,
    force: bool,
) -> None:
    """Export all events to FILE (- for standard output), also while running.

    One JSON object per line; a name ending in .gz is compressed. `import` reads it into another home, on
    SQLite or PostgreSQL. It contains all conversations, and no secrets of the configuration.
    """
    lineages = [context.find_session(name).lineage for name in sessions]
    if form != "events":
        from hermes_jobs.client.training import Selection, training_lines

        selection = Selection(lineages=tuple(lineages), since=log_moment(since) or "", system=system)
        lines: Iterable[bytes] = training_lines(context.application, cast("TrainingFormat", form), selection)
    elif since is not None:
        raise click.UsageError("--since is for training data; an export of events is always complete.")
    else:
        from hermes_jobs.client.transfer import exported_lines

        lines = exported_lines(context.application, lineages)
    num_lines = write_lines(file, lines, force=force)
    if file != STDOUT:
        note(f"{file}: {pluralize(num_lines, 'line')}.")


@command(epilog=example("hermes-jobs backup ~/backups/agent.zip"))
@click.argument("file", metavar="FILE")
@force_option
def backup(context: CliContext, file: str, force: bool) -> None:
    """Back up the home to a ZIP file (- for standard output), also while running.

    It contains all events as of one moment, and config.yaml, SOUL.md, AGENTS.md, memories/, skills/,
    commands/, agents/ and plugins/. It does not contain .env: store your keys elsewhere. Restore it with
    `hermes-jobs import FILE`.
    """
    from hermes_jobs.client.transfer import exported_lines
    from hermes_jobs.interfaces.cli.archive import pack

    application = context.application
    paths, secrets = application.settings.paths, application.settings.secrets
    application.sync_files()  # users' edits of files become events first
    with _target(file, force=force) as target:
        names = pack(target, exported_lines(application, ()), paths, secrets)
    if file != STDOUT:
        size = file_size(Path(file).stat().st_size)
        note(f"{file}: {size}, all events and {pluralize(len(names), 'file')}.")
    if paths.env_file.exists():
        note(".env is not included, because it may contain keys. Store them elsewhere.")


def write_lines(file: str, lines: Iterable[bytes], *, force: bool) -> int:
    """Write the lines to the file, or to standard output; returns their number."""
    count = 0
    with _target(file, force=force) as target, _compressed(target, file) as sink:
        for line in lines:
            sink.write(line)
            count += 1
    return count


@contextmanager
def _target(file: str, *, force: bool) -> Iterator[IO[bytes]]:
    if file == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with output_file(Path(file), force=force) as target:
        yield target


@contextmanager
def _compressed(target: IO[bytes], file: str) -> Iterator[IO[bytes]]:
    """The target, or a compressing writer into it, by the name's ending."""
    if not file.endswith(".gz"):
        yield target
        return
    with gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6) as compressed:
        yield compressed  # type: ignore[misc]  # it writes bytes, which is all that is asked of it
