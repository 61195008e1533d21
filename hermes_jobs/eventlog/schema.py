"""The log's tables: how they are made, and how SQLAlchemy reads all of them. See also `statements`.

| table    | one row is                                                      | changed by            |
|----------|-----------------------------------------------------------------|-----------------------|
| events   | a fact, in the order of `position`; never changed               | append                |
| streams  | a stream's head                                                 | append                |
| steps    | due work and who holds it; follows from the events              | append                |
| keys     | a name that was used once                                       | append                |
| budgets  | what is spent and reserved on an account; follows from events   | append                |
| results  | a tool's output that is too large for a message                 | append                |
| workers  | a process at work and its heartbeat counter                     | register, beat        |
| log_info | this log's id and the `SCHEMA` it was made with; exactly one row | never                 |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement
from sqlalchemy.types import TypeDecorator

from hermes_jobs.eventlog.codec import escaped, to_json, unescaped


class Name(TypeDecorator[str]):
    """A name: compared byte by byte, whatever the database's language, and free to hold any character."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(Text(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else unescaped(value)


class Json(TypeDecorator[Any]):
    """A plain value as JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return to_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else msgspec.json.decode(value)


# SQLite makes an INTEGER primary key the row's own number, which a BIGINT is not.
_Number = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("position", _Number, primary_key=True, autoincrement=False),
    Column("stream", Name, nullable=False),
    Column("version", Integer, nullable=False),
    Column("type", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("meta", Text, nullable=False),
    Column("schema", Integer, nullable=False),
    Column("recorded_at", Text, nullable=False),
    Column("hash", Text, nullable=False),
    UniqueConstraint("stream", "version"),
)

streams = Table(
    "streams",
    metadata,
    Column("stream", Name, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("segment", Integer, nullable=False),  # always 1: older processes expect it
    Column("reader", Integer, nullable=False),
    sqlite_with_rowid=False,
)

steps = Table(
    "steps",
    metadata,
    Column("sequence", _Number, Identity(), primary_key=True),  # first come, first served
    Column("id", Name, nullable=False, unique=True),
    Column("stream", Name, nullable=False),
    Column("kind", Text, nullable=False),
    Column("lane", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("not_before", Float(53), nullable=False),
    Column("owner", Name),
    Column("fence", BigInteger, nullable=False),
)
Index("steps_of_stream", steps.c.stream)
is_unclaimed = steps.c.owner.is_(None)
# `postgres` adds its own condition: to name it here would load that dialect for everybody, with all drivers.
unclaimed_steps = Index("steps_unclaimed", steps.c.not_before, steps.c.sequence, sqlite_where=is_unclaimed)

keys = Table(
    "keys",
    metadata,
    Column("scope", Name, primary_key=True),
    Column("key", Name, primary_key=True),
    Column("stream", Name, nullable=False),
    Column("position", _Number, nullable=False),
    Column("digest", Name, nullable=False),
    sqlite_with_rowid=False,
)

budgets = Table(
    "budgets",
    metadata,
    Column("account", Name, primary_key=True),
    Column("spent_tokens", BigInteger, nullable=False),
    Column("spent_nano_usd", BigInteger, nullable=False),
    Column("reserved_tokens", BigInteger, nullable=False),
    Column("reserved_nano_usd", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

results = Table(
    "results",
    metadata,
    Column("call", Name, primary_key=True),
    Column("content", Json, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("id", Name, primary_key=True),
    Column("name", Name, nullable=False),
    Column("locks", Name, nullable=False),
    Column("lanes", Json, nullable=False),
    Column("beats", BigInteger, nullable=False),
    Column("reader", Integer, nullable=False),
    sqlite_with_rowid=False,
)

log_info = Table(
    "log_info",
    metadata,
    Column("log_id", Text, primary_key=True),
    Column("schema", Integer, nullable=False),
)


def schema_statements(dialect: Dialect) -> Sequence[str]:
    """The statements that make those tables and indexes which are missing."""
    tables = metadata.sorted_tables
    indexes = [index for table in tables for index in table.indexes]
    constructs: Iterable[DDLElement] = (
        *(CreateTable(table, if_not_exists=True) for table in tables),
        *(CreateIndex(index, if_not_exists=True) for index in indexes),
    )
    return [str(construct.compile(dialect=dialect)) for construct in constructs]
