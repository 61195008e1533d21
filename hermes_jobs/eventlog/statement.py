"""Core statements for the write path: compiled once, run on the driver's own cursor.

SQLAlchemy's execution costs several times what SQLite takes for a statement, and the write path runs under a
lock that every process waits for. What the driver raises is raised as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

Values = Mapping[str, Any]


def dialect_insert(dialect: Dialect) -> Any:
    """The dialect's own `insert`. The other's would cost every command a quarter of its imports."""
    if dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert
    from sqlalchemy.dialects import postgresql

    return postgresql.insert


class Statement:
    """A statement whose parameters are all named by `bindparam`, or by the columns that it inserts."""

    def __init__(self, make: Callable[[Dialect], ClauseElement]) -> None:
        """`make` gives the Core construct in the dialect's form; it is called once for each dialect."""
        self._compiled = lru_cache(maxsize=None)(lambda dialect: _Compiled(make(dialect), dialect))

    def run(self, connection: Connection, values: Values) -> DBAPICursor:
        """Run it once; the cursor holds the rows, or `rowcount`."""
        compiled = self._compiled(connection.dialect)
        cursor = connection.connection.cursor()
        cursor.execute(compiled.sql, compiled.parameters(values))
        return cursor

    def run_each(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Run it with each of these, in order."""
        if len(rows) == 1:
            self.run(connection, rows[0])
        elif rows:
            compiled = self._compiled(connection.dialect)
            parameters = [compiled.parameters(values) for values in rows]
            connection.connection.cursor().executemany(compiled.sql, parameters)


class _Compiled:
    """The SQL for one dialect, and how values become its parameters."""

    def __init__(self, construct: ClauseElement, dialect: Dialect) -> None:
        compiled = construct.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)
        self.sql = compiled.string
        self._order = compiled.positiontup
        processors = {name: bind.type.bind_processor(dialect) for name, bind in compiled.binds.items()}
        self._processors = {name: process for name, process in processors.items() if process is not None}

    def parameters(self, values: Values) -> Any:
        """A list or a mapping, whichever the driver takes."""
        ready = dict(values)
        for name, process in self._processors.items():
            ready[name] = process(ready[name])
        return ready if self._order is None else [ready[name] for name in self._order]
