"""From a URL to a log: which database it names, and that its tables are there and of our time."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from sqlalchemy import insert, inspect, select

from hermes_jobs.domain.errors import Corrupt, Misconfigured, NewerSchema
from hermes_jobs.eventlog.codec import Codec
from hermes_jobs.eventlog.database import Database
from hermes_jobs.eventlog.schema import SCHEMA, budgets, log_info, metadata
from hermes_jobs.eventlog.sql import SqlEventLog

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgresql+psycopg://")


def sqlite_url(path: Path) -> str:
    """The URL of a log in that file; whatever the path holds is quoted."""
    return _SQLITE + quote(os.fsencode(path))


def open_log(url: str, *, codec: Codec | None = None) -> SqlEventLog:
    """Open the log that the URL names, and make it where it does not exist yet.

    `sqlite:///PATH` (percent-quoted: see `sqlite_url`) or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    Raises `Misconfigured` for any other URL, `LogUnavailable`, `NewerSchema`, and `Corrupt` where the
    database is damaged or holds something else.
    """
    database = _database(url)
    try:
        return SqlEventLog(database, _entered(database), codec or Codec())
    except Exception as error:
        database.close()
        translation = database.translated(error)
        if translation is None:
            raise
        raise translation from error


def _database(url: str) -> Database:
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        from hermes_jobs.eventlog.sqlite import SqliteDatabase

        return SqliteDatabase(Path(os.fsdecode(unquote_to_bytes(url.removeprefix(_SQLITE)))))
    if url.startswith(_POSTGRES):
        try:
            from hermes_jobs.eventlog.postgres import PostgresDatabase
        except ModuleNotFoundError as error:
            raise Misconfigured(
                f"A log in PostgreSQL needs the package {error.name}.",
                hint="Install hermes-jobs[postgres].",
            ) from error
        return PostgresDatabase(url)
    scheme = url.partition("://")[0]
    raise Misconfigured(
        f"A log cannot be opened at a URL of the form {scheme}://…",
        hint="Use sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )


def _entered(database: Database) -> str:
    """The log's id, having made its tables where there are none."""
    with database.turn() as begin:
        connection = begin(True)
        if not inspect(connection).has_table(budgets.name):
            is_new = not inspect(connection).has_table(log_info.name)
            metadata.create_all(connection)
            if is_new:
                connection.execute(insert(log_info), {"log_id": secrets.token_hex(6), "schema": SCHEMA})
            connection.commit()
        info = connection.execute(select(log_info)).all()
        connection.rollback()
    if len(info) != 1:
        raise Corrupt(f"The log's table log_info holds {len(info)} rows, not one: restore it from a backup.")
    if info[0].schema > SCHEMA:
        raise NewerSchema(
            f"The log was made by a newer hermes-jobs (schema {info[0].schema}; this one knows {SCHEMA}): "
            "upgrade hermes-jobs."
        )
    log_id: str = info[0].log_id
    return log_id
