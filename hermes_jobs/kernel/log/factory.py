"""From a URL to a log: selects the database, creates missing tables, and checks their version."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from hermes_jobs.errors import Corrupt, HermesJobsError, Misconfigured, NewerSchema
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.log.database import LogDatabase
from hermes_jobs.kernel.log.notifier import ProcessNotifier
from hermes_jobs.kernel.log.schema import NEWEST_TABLE, SCHEMA
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.system.randomness import random_hex

logger = logging.getLogger(__name__)

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgresql+psycopg://")


def sqlite_url(path: Path) -> str:
    """The URL of a log in that file; the path is quoted."""
    return _SQLITE + quote(os.fsencode(path))


def folder_of(url: str) -> Path | None:
    """The folder of a log in a file; None for one in a server."""
    if not url.startswith(_SQLITE):
        return None
    return Path(os.fsdecode(unquote_to_bytes(url.removeprefix(_SQLITE)))).resolve().parent


def open_log(
    url: str,
    *,
    codec: Codec | None = None,
    notifier_folder: Path | None = None,
    notify: Callable[[str], None] = logger.warning,
    read_only: HermesJobsError | None = None,
) -> SqlEventLog:
    """Open the log that the URL names, and make it where it does not exist yet.

    `sqlite:///PATH` (percent-quoted: see `sqlite_url`) or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    `notifier_folder` is where this host's processes notify each other of writes; `notify` is called with a
    sentence that names the process a writer waits for. `read_only`: every write raises it.
    Raises `Misconfigured` for any other URL, `LogUnavailable`, `NewerSchema`, and `Corrupt` where the
    database is damaged or holds something else.
    """
    database = _database(url, notify, notifier_folder)
    try:
        doorbell = None if notifier_folder is None else ProcessNotifier(notifier_folder)
        return SqlEventLog(database, _log_id(database), codec or Codec(), doorbell, read_only)
    except Exception as error:
        database.close()
        translation = database.translated(error)
        if translation is None:
            raise
        raise translation from error


def _database(url: str, notify: Callable[[str], None], notifier_folder: Path | None) -> LogDatabase:
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        from hermes_jobs.kernel.log.sqlite import SqliteDatabase

        return SqliteDatabase(Path(os.fsdecode(unquote_to_bytes(url.removeprefix(_SQLITE)))), notify)
    if url.startswith(_POSTGRES):
        try:
            from hermes_jobs.kernel.log.postgres import PostgresDatabase
        except ModuleNotFoundError as error:
            raise Misconfigured(
                f"A log in PostgreSQL needs the package {error.name}.",
                hint="Install hermes-jobs[postgres].",
            ) from error
        return PostgresDatabase(url, notify, notifier_folder)
    scheme = url.partition("://")[0]
    raise Misconfigured(
        f"A log cannot be opened at a URL of the form {scheme}://…",
        hint="Use sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )


def _log_id(database: LogDatabase) -> str:
    """The log's id. Creates missing tables; if they exist, the call waits for no lock."""
    with database.reading() as reader:
        if database.has_table(reader, NEWEST_TABLE):
            return _checked_id(reader.execute(sql.SELECT_INFO).fetchall())
    with database.write_lock() as begin:
        connection = begin(True)
        if not database.has_table(connection, NEWEST_TABLE):
            is_new = not database.has_table(connection, "log_info")
            for statement in database.schema_statements():
                connection.execute(statement)
            if is_new:
                connection.execute(sql.INSERT_INFO, {"log_id": random_hex(6), "schema": SCHEMA})
            connection.commit()
        info = connection.execute(sql.SELECT_INFO).fetchall()
        connection.rollback()
    return _checked_id(info)


def _checked_id(info: Sequence[Any]) -> str:
    """The log's id, from all rows of its table `log_info`."""
    if len(info) != 1:
        raise Corrupt(f"The log's table log_info holds {len(info)} rows, not one: restore it from a backup.")
    [(log_id, schema)] = info
    if schema > SCHEMA:
        raise NewerSchema(
            f"The log was made by a newer hermes-jobs (schema {schema}; this one knows {SCHEMA}): "
            "upgrade hermes-jobs."
        )
    return str(log_id)
