"""`hermes-jobs import`: imports an export or a backup into this home, atomically."""

from __future__ import annotations

import gzip
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, TYPE_CHECKING, cast
from zipfile import BadZipFile

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import FAILED
from hermes_jobs.interfaces.cli.import_consent import is_accepted
from hermes_jobs.interfaces.cli.options import Json, example, yes_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.system.bounded_archive import CountedReader, Unpackable, bounded_lines
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.client.brought_along import Brought
    from hermes_jobs.client.transfer import Imported

ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
NOTHING_IMPORTED = "Nothing was imported"
MAX_IDS = 5  # ids in a note
RESUME_HINTS = {
    "turns": "hermes-jobs turns retry ID",
    "schedules": "hermes-jobs schedule resume ID",
    "deliveries": "hermes-jobs inbox",
}


@command(
    "import",
    epilog=example(
        "HERMES_JOBS_HOME=~/restored hermes-jobs import agent.zip", "hermes-jobs import trip.jsonl.gz"
    ),
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--resume",
    is_flag=True,
    help="Continue everything that was due; only if the original home no longer exists.",
)
@click.option("--sessions", "sessions_only", is_flag=True, help="Import only the sessions.")
@yes_option("Do not ask.")
@click.option("--anyway", is_flag=True, help="With --yes: also with texts that look like an attack.")
def import_file(
    context: CliContext,
    *,
    file: Path,
    resume: bool,
    sessions_only: bool,
    yes: bool,
    anyway: bool,
    as_json: Json,
) -> int:
    """Import an export into this home, or restore a backup into an empty home.

    What would give the agent more rights here, or reaches its prompts, is listed before you confirm. Rules
    that allow calls come as proposals: `approvals accept`.

    Nothing starts by itself afterwards, because the original home may still be running: unfinished turns are
    cancelled, schedules paused, deliveries held in the inbox. --resume continues all of it here.

    Existing sessions are kept, so importing a file twice adds nothing. Other processes can write meanwhile.
    An interrupted import has no visible effect; run it again to continue it.
    """
    from hermes_jobs.client.transfer import NotWanted

    consent = partial(is_accepted, question="Import it?", undone=NOTHING_IMPORTED, yes=yes, anyway=anyway)
    try:
        imported = _read(context.application, file, consent, resume=resume, sessions_only=sessions_only)
    except NotWanted:
        note(f"{NOTHING_IMPORTED}.")
        return FAILED
    came, rested = imported
    if came.streams:
        context.application.sync_files()
    fields = {"num_events": came.num_events, "streams": came.streams, "known": came.known, "rested": rested}
    print_result(lambda: fields, lambda: _print_rested(imported), as_json=as_json)
    return 0


def _restore_backup(*, file: Path, **options: bool) -> int:
    """Restore a backup into this home, which must be empty.

    What would give the agent more rights here, or reaches its prompts, is listed before you confirm.

    Nothing starts by itself afterwards, because the original home may still be running: unfinished turns are
    cancelled, schedules paused, deliveries held in the inbox. --resume continues all of it here.
    """
    with file.open("rb") as opened:
        if not opened.peek(len(ZIP)).startswith(ZIP):
            raise click.UsageError(f"{file} is not a backup. An export: hermes-jobs import {file}")
    assert import_file.callback is not None
    code: int = import_file.callback(file=file, sessions_only=False, **options)  # in this command's context
    return code


restore_backup = click.command(
    "restore", epilog=example("HERMES_JOBS_HOME=~/restored hermes-jobs restore agent.zip")
)(_restore_backup)
restore_backup.params = [option for option in import_file.params if option.name != "sessions_only"]


def _read(
    application: Application,
    file: Path,
    consent: Callable[[Sequence[Brought]], bool],
    *,
    resume: bool,
    sessions_only: bool,
) -> Imported:
    """Read an export or a backup, whichever it is. Raises `NotWanted`."""
    from hermes_jobs.client.transfer import import_lines

    with file.open("rb") as opened:
        start = opened.peek(len(ZIP))
        if start.startswith(ZIP):
            if sessions_only:
                raise click.UsageError("--sessions is for exports: a backup makes a whole home.")
            if not opened.seekable():
                raise click.UsageError("A backup is read from a file, not from a pipe.")
            return _restore(application, file, consent, resume=resume)
        is_included = _is_session if sessions_only else _is_any
        with _readable(file):
            lines = _lines(opened, is_compressed=start.startswith(GZIP))
            return import_lines(application, lines, is_included, resume=resume, consent=consent)


def _lines(file: IO[bytes], *, is_compressed: bool) -> Iterator[bytes]:
    if not is_compressed:
        return bounded_lines(file, None)
    packed = CountedReader(file)
    unpacked = gzip.GzipFile(fileobj=cast("IO[bytes]", packed), mode="rb")
    return bounded_lines(cast("IO[bytes]", unpacked), lambda: packed.count)


def _restore(
    application: Application, file: Path, consent: Callable[[Sequence[Brought]], bool], *, resume: bool
) -> Imported:
    """Restore a backup into this home, which must be empty."""
    from hermes_jobs.client.brought_along import of_files
    from hermes_jobs.client.transfer import import_lines
    from hermes_jobs.interfaces.cli import archive as archives

    paths = application.settings.paths
    if application.log.streams():
        raise Rejected(
            f"{file} is a backup, and the home {paths.home} is not empty: its log holds events.",
            kind="usage",
            hint="Set HERMES_JOBS_HOME to a new folder; on PostgreSQL, HERMES_JOBS_LOG_URL to a new schema.",
        )
    folder = Path(mkdtemp(prefix="restore-", dir=paths.run))
    remaining: list[str] = []
    try:
        with _readable(file), archives.open_archive(file) as archive, archive.open(archives.EVENTS) as lines:
            names = archives.unpack(archive, folder, paths)
            brought = tuple(of_files(names, folder, paths))

            def place() -> None:
                remaining.extend(archives.move_into_home(names, folder, paths.home))

            outcome = import_lines(
                application,
                bounded_lines(lines, None),  # the archive's entries were checked
                _is_any,
                resume=resume,
                consent=consent,
                brought=brought,
                then=place,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if remaining:
        note(f"These were in the home already and were kept: {', '.join(remaining)}.")
    return outcome


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, BadZipFile, gzip.BadGzipFile) as error:
        raise Rejected(
            f"{file} is damaged: {error}.",
            kind="unreadable_export",
            hint="Nothing was imported. Use another copy of it.",
        ) from error
    except Unpackable as error:
        raise Rejected(
            f"{file} was not unpacked: {error}.", kind="unreadable_export", hint=f"{NOTHING_IMPORTED}."
        ) from error


def _is_any(_stream: str) -> bool:
    return True


def _is_session(stream: str) -> bool:
    from hermes_jobs.kernel.streams.streams import SESSIONS

    return stream.startswith(SESSIONS)


def _print_rested(imported: Imported) -> None:
    came, rested = imported
    if not came.streams:
        note("Nothing was added: everything is here already." if came.known else "The file holds no events.")
        return
    also = f"; {len(came.known)} were here already" if came.known else ""
    events, streams = pluralize(came.num_events, "event"), pluralize(len(came.streams), "stream")
    note(f"Imported {events} in {streams}{also}.")
    for what, ids in rested.items():
        if ids:
            text = f"{', '.join(ids[:MAX_IDS])}{' …' * (len(ids) > MAX_IDS)}"
            again = f" ({RESUME_HINTS[what]})" if what in RESUME_HINTS else ""
            note(f"Paused, {what}: {text}{again}.")
