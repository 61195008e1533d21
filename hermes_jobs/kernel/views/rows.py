"""Rows of the views' tables by the names of their columns: read into values, inserted, updated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection, Row
from typing import Any, TypeVar

import msgspec

V = TypeVar("V", bound=msgspec.Struct)


def fetched(connection: Connection, query: str, values: Iterable[object] = ()) -> list[Row]:
    """All rows of a query."""
    cursor = connection.cursor()
    cursor.row_factory = Row
    return cursor.execute(query, tuple(values)).fetchall()


def value_of(kind: type[V], row: Row, **own: Any) -> V:
    """The value whose fields are the columns of the same names; `own` are the other fields."""
    same = {name: row[name] for name in kind.__struct_fields__ if name not in own}
    return kind(**same, **own)


def insert(connection: Connection, table: str, row: Mapping[str, object], *, replaces: bool = False) -> None:
    """Insert a row, which `replaces` one of the same key; columns without a value have their default."""
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    verb = "INSERT OR REPLACE" if replaces else "INSERT"
    connection.execute(f"{verb} INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def insert_all(connection: Connection, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows; a column of which one says nothing is NULL."""
    if not rows:
        return
    columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    marks = ", ".join("?" * len(columns))
    values = [tuple(map(row.get, columns)) for row in rows]
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)


def update(connection: Connection, table: str, changes: Mapping[str, object], **key: object) -> None:
    """Give the columns of the row with that key, one column's value, new values."""
    ((column, value),) = key.items()
    assignments = ", ".join(f'"{name}" = ?' for name in changes)
    query = f"UPDATE {table} SET {assignments} WHERE {column} = ?"
    connection.execute(query, (*changes.values(), value))
