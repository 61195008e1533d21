"""`hermes-jobs changed`: whether files have changed since the same caller last asked."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import FAILED
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.system.clock import SystemClock
from hermes_jobs.system.isolation import LOOKS_FOR_CHANGES

MAX_SHOWN = 200
OWN = ""
"""The key of a condition that gives none."""


@command(
    "changed",
    epilog=example(
        "hermes-jobs changed docs 'src/**/*.py'",
        'hermes-jobs schedule add "Every hour check the links in docs" --if "hermes-jobs changed docs"',
    ),
)
@click.argument("paths", type=NonEmpty(), metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--key", metavar="KEY", type=NonEmpty(), help="The caller that asks.  [default: the folder or condition]"
)
def changed(context: CliContext, paths: tuple[str, ...], key: str | None) -> int:
    """Exit with 0 if files have changed since the last call, 1 if not.

    PATH is a file, a folder with all that is in it, or a pattern; what is new, changed or gone is printed.
    The first call finds everything new. `.git`, `node_modules` and the like are left out.

    In a condition (`schedule add --if`, `send --if-changed`) the last call is that of the last run: what
    changed stays changed until a run was accepted.
    """
    from hermes_jobs.features.conditions.changes import AFTER, BEFORE, Seen, compare, decode

    folder = os.environ.get(LOOKS_FOR_CHANGES)
    if folder:
        read_from, write_to, name = Path(folder, BEFORE), Path(folder, AFTER), key or OWN
        if write_to.exists():  # the command asks several times
            read_from = write_to
    else:
        name = key or os.path.realpath(".")
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        write_to = read_from = context.settings.paths.changed / f"shell-{digest}"
        write_to.parent.mkdir(parents=True, exist_ok=True)
    states = decode(read_from.read_bytes() if read_from.exists() else b"")
    now = int(SystemClock().now() * 1e9)
    after, found = compare(states.get(name, Seen()), paths, os.path.realpath("."), now)
    _write(write_to, {**states, name: after})
    for path in sorted(found)[:MAX_SHOWN]:
        click.echo(f"{found[path]:<8}{os.path.relpath(path)}")
    if len(found) > MAX_SHOWN:
        click.echo(f"… and {len(found) - MAX_SHOWN:,} more")
    if not after.files and not found:
        note(f"Nothing is there: {', '.join(paths)}")
    return 0 if found else FAILED


def _write(path: Path, states: object) -> None:
    import msgspec

    from hermes_jobs.system.atomic_file import write_bytes

    write_bytes(path, msgspec.json.encode(states))
