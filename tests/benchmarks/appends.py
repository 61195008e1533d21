"""How fast events are appended, and how long a writer waits: `python -m tests.benchmarks appends`.

The baseline is a loop over the `sqlite3` module that inserts rows of the same bytes into the same table, one
transaction each, as durable as the log's. It takes turns with the log, on the same disk.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median, quantiles

from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.schema import SQLITE, schema_statements
from hermes_jobs.kernel.log.statements import SELECT_TAIL
from tests.benchmarks.lines import Line

APPENDS = 500
ROUNDS = 6
PROCESSES = 8
THREADS = 16
SECONDS = 4.0

EVENT = ToolFinished(turn="t-0123456789", call="t-0123456789-1-0", ok=True, content="x" * 200)
META = EventMeta(worker="w-0123456789", causation="t-0123456789-1-0", correlation="t-0123456789")
MOMENT = "2026-11-21T12:00:00.000000Z"

Round = Callable[[], object]
_barriers: list[Barrier] = []


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        one_by_one(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        together(Path(folder))


def lines(folder: Path) -> Iterator[Line]:
    """An append of one event that is on the disk before the next begins."""
    times = list(_rounds(folder, durable=True))
    raw, ours = (median(each) * 1000 / APPENDS for each in zip(*times, strict=True))
    yield Line("an append, on disk", ours, "a raw SQLite transaction", raw)


def _rounds(folder: Path, *, durable: bool) -> Iterator[tuple[float, float]]:
    """Seconds of rounds that take turns: of raw SQLite, of the log."""
    raw = raw_rounds(folder / f"raw-{durable}.db", durable=durable)
    ours = log_rounds(folder / f"log-{durable}.db", durable=durable)
    for _ in range(ROUNDS):
        yield seconds(raw), seconds(ours)


def one_by_one(folder: Path) -> None:
    """One writer, one event a transaction."""
    print("one writer, one event of ~400 bytes a transaction    events/s   of raw sqlite3")
    for durable in (True, False):
        times = list(_rounds(folder, durable=durable))
        baseline, log = (APPENDS / median(each) for each in zip(*times, strict=True))
        how = "on disk at each commit" if durable else "not waiting for the disk"
        print(f"  raw sqlite3, {how:<37} {baseline:>8,.0f}           100 %")
        print(f"  the log,     {how:<37} {log:>8,.0f}          {log / baseline:>4.0%}")


def together(folder: Path) -> None:
    """Many processes with many threads each, one durable event an append."""
    path = folder / "events.db"
    raw_path = folder / "raw.db"
    raw_rounds(raw_path, durable=True)
    raw = in_processes(raw_writers, str(raw_path), threads=1)
    ours = in_processes(log_writers, sqlite_url(path), threads=THREADS)
    print(f"\n{PROCESSES} processes, each event on disk          events/s   wait p50     p99   worst (ms)")
    table = (("raw sqlite3, busy handler, 1 thread", raw), (f"the log, {THREADS} threads each", ours))
    for name, waits in table:
        rate = len(waits) / SECONDS
        p50, p99, worst = (wait * 1e3 for wait in (median(waits), quantiles(waits, n=100)[-1], max(waits)))
        print(f"  {name:<36} {rate:>8,.0f}  {p50:>9.1f} {p99:>7.1f} {worst:>7.0f}")
    print(f"  the log writes {len(ours) / len(raw):.1f} times as many")


def seconds(a_round: Round) -> float:
    """How long it takes."""
    start = time.perf_counter()
    a_round()
    return time.perf_counter() - start


def change(stream: str, version: int, *, durable: bool = True) -> Append:
    """One decision: one event against the version before it."""
    write = StreamWrite(stream=stream, events=(EVENT,), expected=version)
    return Append(meta=META, recorded_at=MOMENT, writes=(write,), durable=durable)


def log_rounds(path: Path, *, durable: bool) -> Round:
    """Appends through the log."""
    log = open_log(sqlite_url(path))
    versions = count()

    def run() -> None:
        for _ in range(APPENDS):
            log.append(change("session-a", next(versions), durable=durable))

    return run


def raw_rounds(path: Path, *, durable: bool) -> Round:
    """Inserts of the log's own row into the log's own table, through the `sqlite3` module."""
    row = a_row(path.with_suffix(".one"))
    raw = raw_connection(path, durable=durable)
    raw.execute(schema_statements(SQLITE)[0])
    versions = count(1)

    def run() -> None:
        for _ in range(APPENDS):
            raw_append(raw, row, next(versions))

    return run


def a_row(path: Path) -> list[object]:
    """An event's row as the log stores it."""
    log = open_log(sqlite_url(path))
    log.append(change("session-a", 0))
    with log.snapshot() as connection:
        row = connection.execute(SELECT_TAIL, {"after": 0, "most": 1}).fetchone()
    log.close()
    return list(row)


def raw_connection(path: Path, *, durable: bool) -> sqlite3.Connection:
    """As the log opens its own."""
    raw = sqlite3.connect(path, isolation_level=None, timeout=60)
    raw.execute("PRAGMA journal_mode = wal")
    raw.execute(f"PRAGMA synchronous = {'full' if durable else 'normal'}")
    return raw


def raw_append(raw: sqlite3.Connection, row: list[object], version: int) -> None:
    """One row, one transaction; the position is the next."""
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [None, row[1], version, *row[3:]])
    raw.execute("COMMIT")


def in_processes(writers: Callable[[str, int, int], list[float]], place: str, threads: int) -> list[float]:
    """Every wait, in seconds, of all threads of all processes."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(
        PROCESSES, mp_context=context, initializer=_meet_at, initargs=(barrier,)
    ) as pool:
        jobs = [pool.submit(writers, place, number, threads) for number in range(PROCESSES)]
        return [wait for job in jobs for wait in job.result()]


def _meet_at(barrier: Barrier) -> None:
    _barriers.append(barrier)


def log_writers(url: str, number: int, threads: int) -> list[float]:
    """Each thread appends to its own stream."""
    log = open_log(url)
    _barriers[0].wait()
    end = time.perf_counter() + SECONDS

    def write(thread: int) -> list[float]:
        versions = count()
        waits: list[float] = []
        while time.perf_counter() < end:
            waits.append(seconds(lambda: log.append(change(f"session-{number}-{thread}", next(versions)))))
        return waits

    with ThreadPoolExecutor(threads) as pool:
        return [wait for waits in pool.map(write, range(threads)) for wait in waits]


def raw_writers(path: str, number: int, threads: int) -> list[float]:
    """One connection, one thread; the versions of processes do not meet."""
    row = a_row(Path(f"{path}.{number}"))
    raw = raw_connection(Path(path), durable=True)
    versions = count(number * 10_000_000)
    _barriers[0].wait()
    end = time.perf_counter() + SECONDS
    waits: list[float] = []
    while time.perf_counter() < end:
        waits.append(seconds(lambda: raw_append(raw, row, next(versions))))
    return waits
