"""The files of the views: the checkpoint and the contents of each generation."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.views.models import GenerationStatus, ViewsStatus
from hermes_jobs.kernel.views.sqlite import connect
from hermes_jobs.kernel.views.store import Store


def select_status(log: EventLog, store: Store) -> ViewsStatus:
    """The state of all files, before anything is caught up with."""
    last = log.last_position()
    current = store.generations.current()
    files = store.generations.all()
    generations = tuple(_generation(file, last, store.schema, current=file == current) for file in files)
    behind = any(generation.current and generation.behind for generation in generations)
    return ViewsStatus(
        last_position=last,
        generations=generations,
        stopped=store.stopped() if behind else None,
    )


def _generation(file: Path, last: int, schema: int, *, current: bool) -> GenerationStatus:
    sizes = [Path(f"{file}{suffix}") for suffix in ("", "-wal")]
    size = sum(path.stat().st_size for path in sizes if path.exists())
    try:
        position, rows = _contents(file, schema)
        problem = None
    except sqlite3.Error as error:
        position, rows, problem = 0, {}, str(error)
    return GenerationStatus(
        file=file.name,
        current=current,
        position=position,
        behind=max(0, last - position),
        size=size,
        rows=rows,
        problem=problem,
    )


def _contents(file: Path, schema: int) -> tuple[int, dict[str, int]]:
    connection = connect(file, seconds=1.0)
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found != schema:
            raise sqlite3.DatabaseError(f"made by another hermes-jobs (schema {found})")
        (position,) = connection.execute("SELECT position FROM checkpoint").fetchone()
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        tables = [name for (name,) in names if name != "checkpoint" and not name.startswith("entries")]
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}
        return position, counts
    finally:
        connection.close()
