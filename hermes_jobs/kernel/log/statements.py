"""The SQL of the log, for SQLite and PostgreSQL alike; parameters are written `:name`.

It is text, so that a command loads no more than its database's own driver. The tables are those of
`hermes_jobs.kernel.log.schema`. A statement that ends in `PAGE` gives at most `:most` rows, in order, after
the row whose key it is given; `{}` in it takes a further condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from hermes_jobs.kernel.log.schema import columns
from hermes_jobs.kernel.turns.steps import QUEUES_BY_KIND

LAST_CHARACTER = "\U0010ffff"


def _insert(table: str, *names: str) -> str:
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


def _upsert(table: str, key: str, *others: str) -> str:
    """Insert a row, or replace these columns of the one with that key."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"{_insert(table, key, *others)} ON CONFLICT ({key}) DO UPDATE SET {changes}"


# --- events and streams -----------------------------------------------------------------------------

EVENT = columns("events")
HEAD = columns("streams", without="segment")

_EVENTS = f"SELECT {', '.join(EVENT)} FROM events"
_HEADS = f"SELECT {', '.join(HEAD)} FROM streams"
_NEWEST = "SELECT coalesce(max(position), 0) FROM events"

SELECT_STREAM = f"{_EVENTS} WHERE stream = :name AND version > :after AND version <= :upto ORDER BY version"
SELECT_TAIL = f"{_EVENTS} WHERE position > :after ORDER BY position LIMIT :most"
SELECT_TAIL_OF_STREAM = f"{_EVENTS} WHERE position > :after AND stream = :name ORDER BY position LIMIT :most"
EVENTS_PAGE = f"{_EVENTS} WHERE position > :position{{}} ORDER BY position LIMIT :most"
EVENTS_BY_STREAM_PAGE = (
    f"{_EVENTS} WHERE (stream, version) > (:stream, :version) ORDER BY stream, version LIMIT :most"
)
SELECT_EXTENT = "SELECT count(*), min(position), max(position) FROM events"
_SELECT_AT = f"{_EVENTS} WHERE position IN ({{}})"
SELECT_LAST_POSITION = _NEWEST
SELECT_HEAD = f"{_HEADS} WHERE stream = :name"
SELECT_HEAD_FORGOTTEN = (
    f"SELECT {', '.join(HEAD)}, (SELECT position FROM keys WHERE scope = :scope AND key = :key)"
    " FROM streams WHERE stream = :name"
)
SELECT_HEADS = f"{_HEADS} WHERE stream >= :first AND stream < :beyond ORDER BY stream"
SELECT_HEADS_AT = f"{_HEADS} WHERE reader = :level ORDER BY stream"
SELECT_EVERY_HEAD = _HEADS


def select_outside(prefixes: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """The statement for the names of streams that begin with none of those, and its parameters."""
    first = {f"first_{at}": prefix for at, prefix in enumerate(prefixes)}
    beyond = {f"beyond_{at}": prefix + LAST_CHARACTER for at, prefix in enumerate(prefixes)}
    among = " ".join(
        f"AND NOT (stream >= :first_{at} AND stream < :beyond_{at})" for at in range(len(prefixes))
    )
    statement = f"SELECT stream FROM streams WHERE reader <> :importing {among} ORDER BY stream"
    return statement, {**first, **beyond}


SELECT_LOST_END = (
    "SELECT stream, version FROM streams WHERE NOT EXISTS (SELECT 1 FROM events WHERE"
    " events.stream = streams.stream AND events.version = streams.version){} LIMIT 1"
)
SELECT_END = (
    f"SELECT version, hash, reader, ({_NEWEST})"
    " FROM (SELECT 1 AS one) AS single LEFT JOIN streams ON stream = :name"
)
SELECT_HASH = "SELECT hash FROM events WHERE stream = :name AND version = :version"
SELECT_POSITION = "SELECT position FROM events WHERE stream = :name AND version = :version"
INSERT_EVENT = _insert("events", *EVENT)
INSERT_HEAD = (
    f"INSERT INTO streams ({', '.join(HEAD)}, segment) VALUES (:stream, :version, :hash, :reader, 1)"
)
UPDATE_HEAD = "UPDATE streams SET version = :version, hash = :hash, reader = :reader WHERE stream = :stream"

# --- texts that were forgotten: see `forget`, the only one that changes events ----------------------

SELECT_OF_TYPE = (
    "SELECT data FROM events WHERE stream >= :first AND stream < :beyond AND type = :type ORDER BY position"
)
SELECT_TYPE = "SELECT stream, data, schema FROM events WHERE type = :type ORDER BY position"
REWRITE_EVENT = (
    "UPDATE events SET data = :data, schema = :schema WHERE stream = :stream AND version = :version"
)
SELECT_CLAIMED = "SELECT DISTINCT stream FROM steps WHERE owner IS NOT NULL"
SELECT_STREAMS_OF_STEPS = "SELECT DISTINCT stream FROM steps"

# --- due steps --------------------------------------------------------------------------------------

STEP = columns("steps", without="sequence")

_STEP_COLUMNS = ", ".join(f"steps.{name}" for name in STEP)
_STEPS = f"SELECT {_STEP_COLUMNS} FROM steps"
_OF_KNOWN_KIND = f"steps.kind IN ({', '.join(repr(kind) for kind in QUEUES_BY_KIND)})"
_READABLE = (
    " FROM steps LEFT JOIN streams ON streams.stream = steps.stream WHERE steps.owner IS NULL"
    f" AND {_OF_KNOWN_KIND} AND (streams.reader IS NULL OR streams.reader <= :level)"
)
_NEXT = f"SELECT min(steps.not_before){_READABLE}"


def _due(condition: str = "") -> str:
    first = "ORDER BY steps.not_before, steps.sequence LIMIT :most"
    return f"SELECT {_STEP_COLUMNS}{_READABLE} AND steps.not_before <= :now{condition} {first}"


SELECT_STEP = f"{_STEPS} WHERE id = :name"
SELECT_EVERY_STEP = f"{_STEPS} ORDER BY sequence"
SELECT_STEPS = f"{_STEPS} WHERE {_OF_KNOWN_KIND} ORDER BY sequence"
SELECT_STEPS_OF_STREAM = f"{_STEPS} WHERE {_OF_KNOWN_KIND} AND stream = :name ORDER BY sequence"
SELECT_STEPS_OF_OTHERS = f"{_STEPS} WHERE {_OF_KNOWN_KIND} AND owner <> :worker ORDER BY sequence"
SELECT_DUE = _due()
SELECT_DUE_OF_STREAM = _due(" AND steps.stream = :name")
SELECT_DUE_OF_QUEUE = _due(" AND steps.lane = :name")
SELECT_NEXT_DUE = _NEXT
SELECT_NEXT_DUE_OF_STREAM = f"{_NEXT} AND steps.stream = :name"
SELECT_NEXT_DUE_OF_QUEUE = f"{_NEXT} AND steps.lane = :name"
UPSERT_STEP = _upsert("steps", *STEP)
INSERT_STEP = _insert("steps", *STEP)
DELETE_STEP = "DELETE FROM steps WHERE id = :name"
CLAIM_STEP = "UPDATE steps SET owner = :owner, fence = :fence WHERE id = :name AND owner IS NULL"
FINISH_STEP = "UPDATE steps SET owner = NULL WHERE id = :name AND owner = :owner AND fence = :fence"
DROP_STEP = "DELETE FROM steps WHERE id = :name AND owner = :owner AND fence = :fence"

# --- keys, results, accounts ------------------------------------------------------------------------

KEY = columns("keys")
SUMS = columns("budgets", without="account")

SELECT_KEY = f"SELECT {', '.join(KEY)} FROM keys WHERE scope = :scope AND key = :name"
KEYS_PAGE = (
    f"SELECT {', '.join(f'keys.{name}' for name in KEY)}, events.stream, events.version"
    " FROM keys LEFT JOIN events ON events.position = keys.position"
    " WHERE (keys.scope, keys.key) > (:scope, :key){} ORDER BY keys.scope, keys.key LIMIT :most"
)
INSERT_KEY = _insert("keys", *KEY)
MOVE_KEY = (
    f"{_insert('keys', *KEY)} ON CONFLICT (scope, key) DO UPDATE SET stream = excluded.stream,"
    " position = excluded.position"
)
DELETE_KEY = "DELETE FROM keys WHERE scope = :scope AND key = :key"
SELECT_RESULT = "SELECT content FROM results WHERE call = :name"
RESULTS_PAGE = "SELECT call, content FROM results WHERE call > :call ORDER BY call LIMIT :most"
UPSERT_RESULT = _upsert("results", "call", "content")
SELECT_BLOB = "SELECT content FROM blobs WHERE digest = :digest"
SELECT_BLOBS = "SELECT digest FROM blobs ORDER BY digest"
INSERT_BLOB = f"{_insert('blobs', 'digest', 'content')} ON CONFLICT (digest) DO NOTHING"
DELETE_BLOB = "DELETE FROM blobs WHERE digest = :digest"
SELECT_ATTACHED = "SELECT data FROM events WHERE data LIKE :attached"
SELECT_ACCOUNTS = f"SELECT account, {', '.join(SUMS)} FROM budgets"
SELECT_ACCOUNT = f"SELECT {', '.join(SUMS)} FROM budgets WHERE account = :account"


def _total(what: str) -> str:
    """The sums of an account after this charge."""
    return " + ".join(
        f"{table}.{kind}_{what}" for table in ("budgets", "excluded") for kind in ("spent", "reserved")
    )


_ADDING = (
    " ON CONFLICT (account) DO UPDATE SET "
    f"{', '.join(f'{name} = budgets.{name} + excluded.{name}' for name in SUMS)}"
)
ADD_WITHIN = (
    f"{_insert('budgets', 'account', *SUMS)}{_ADDING}"
    f" WHERE {_total('tokens')} <= :most_tokens AND {_total('nano_usd')} <= :most_nano_usd"
)


@cache
def add_to_accounts(accounts: int) -> str:
    """Add to so many different accounts; their parameters end in `_0`, `_1` and so on."""
    names = ("account", *SUMS)
    rows = (f"({', '.join(f':{name}_{at}' for name in names)})" for at in range(accounts))
    return f"INSERT INTO budgets ({', '.join(names)}) VALUES {', '.join(rows)}{_ADDING}"


# --- workers, the log itself ------------------------------------------------------------------------

WORKER = columns("workers")

SELECT_WORKERS = f"SELECT {', '.join(WORKER)} FROM workers ORDER BY id"
INSERT_WORKER = _insert("workers", *WORKER)
DELETE_WORKER = "DELETE FROM workers WHERE id = :name"
EVICT_WORKER = "DELETE FROM workers WHERE id = :name AND beats = :beats"
BEAT = "UPDATE workers SET beats = beats + 1 WHERE id = :name"
SELECT_STATUS = (
    "SELECT worker_status.worker, worker_status.status FROM worker_status"
    " JOIN workers ON workers.id = worker_status.worker"
)
UPSERT_STATUS = _upsert("worker_status", "worker", "status")
DELETE_STATUS = "DELETE FROM worker_status WHERE worker = :name"
SELECT_INFO = "SELECT log_id, schema FROM log_info"
INSERT_INFO = _insert("log_info", *columns("log_info"))


def select_at(positions: Sequence[int]) -> tuple[str, Mapping[str, int]]:
    """The statement for the events at those positions, and its parameters.

    Drivers cache statements by their text: so there are few of them, each for a power of two.
    """
    count = 1 << max(0, len(positions) - 1).bit_length()
    values = {f"at{number}": position for number, position in enumerate(positions)}
    padding = {f"at{number}": 0 for number in range(len(positions), count)}
    names = ", ".join(f":at{number}" for number in range(count))
    return _SELECT_AT.format(names), {**values, **padding}
