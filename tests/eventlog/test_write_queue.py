"""Acts that wait together are committed together, and each fares as if it were alone."""

from __future__ import annotations

import gc
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.kernel.log import write_queue
from hermes_jobs.kernel.log.database import Begin, Connection
from hermes_jobs.kernel.log.sqlite import SqliteDatabase
from hermes_jobs.kernel.log.write_queue import WriteQueue


class CountingDatabase(SqliteDatabase):
    """Counts its transactions, and lets a test hold the first one's turn back."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.transactions: list[bool] = []
        self.arrived = threading.Event()
        self.open = threading.Event()

    @contextmanager
    def write_lock(self) -> Iterator[Begin]:
        with super().write_lock() as begin:

            def count(durable: bool) -> Connection:
                self.transactions.append(durable)
                return begin(durable)

            self.arrived.set()
            assert self.open.wait(60)
            yield count


@pytest.fixture
def database(tmp_path: Path) -> Iterator[CountingDatabase]:
    database = CountingDatabase(tmp_path / "events.db")
    with SqliteDatabase.write_lock(database) as begin:
        connection = begin(True)
        connection.execute("CREATE TABLE said (word TEXT UNIQUE)")
        connection.commit()
    yield database
    database.close()


def said(database: SqliteDatabase) -> list[str]:
    with database.reading() as connection:
        return [word for (word,) in connection.execute("SELECT word FROM said ORDER BY rowid").fetchall()]


def say(word: str) -> Callable[[Connection], str]:
    def act(connection: Connection) -> str:
        connection.execute("INSERT INTO said VALUES (:word)", {"word": word})
        return word.upper()

    return act


def refuse(connection: Connection) -> None:
    say("refused")(connection)
    raise ValueError("no")


@contextmanager
def gathered(database: CountingDatabase, queue: WriteQueue) -> Iterator[Callable[..., Future[Any]]]:
    """While the first act's turn is held back, others gather behind it, in the order of the calls."""
    with ThreadPoolExecutor(200) as pool:

        def submit(act: Callable[[Connection], Any], **how: Any) -> Future[Any]:
            waiting = len(queue._waiting)
            future = pool.submit(lambda: queue.run(act, **{"durable": True, **how}))
            while len(queue._waiting) == waiting:
                database.arrived.wait()
            return future

        yield submit
        database.open.set()


def test_waiting_writers_share_a_transaction(database: CountingDatabase) -> None:
    queue = WriteQueue(database)
    with gathered(database, queue) as submit:
        futures = [submit(say(word), durable=word == "c") for word in "abcd"]
    assert [future.result() for future in futures] == ["A", "B", "C", "D"]
    assert said(database) == ["a", "b", "c", "d"]
    assert database.transactions == [True]


def test_only_durable_appends_are_synced(database: CountingDatabase) -> None:
    queue = WriteQueue(database)
    with gathered(database, queue) as submit:
        futures = [submit(say(word), durable=False) for word in "ab"]
    assert [future.result() for future in futures] == ["A", "B"]
    assert database.transactions == [False]


def test_others_are_notified_once_of_all_new_events(database: CountingDatabase) -> None:
    told: list[int] = []
    queue = WriteQueue(database, lambda: told.append(len(said(database))))
    with gathered(database, queue) as submit:
        futures = [submit(say(word), notifies=word in "bc") for word in "abc"]
        futures.append(submit(refuse, notifies=True))
    for future in futures:
        future.exception()
    assert told == [3]
    queue.run(say("d"), durable=False)
    with pytest.raises(ValueError, match="no"):
        queue.run(refuse, durable=True, notifies=True)
    assert told == [3]


def test_an_interrupt_during_the_notification_leaves_no_writer_waiting(database: CountingDatabase) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    queue = WriteQueue(database, interrupted)
    with gathered(database, queue) as submit:
        leader, *followers = [submit(say(word), notifies=True) for word in "abc"]
    assert isinstance(leader.exception(), KeyboardInterrupt)
    assert [future.result() for future in followers] == ["B", "C"]
    assert said(database) == ["a", "b", "c"]


def test_a_failing_writer_is_rolled_back_alone(database: CountingDatabase) -> None:
    queue = WriteQueue(database)
    with gathered(database, queue) as submit:
        first, refused, doubled, last = (submit(act) for act in (say("a"), refuse, say("a"), say("b")))
    assert (first.result(), last.result()) == ("A", "B")
    assert isinstance(refused.exception(), ValueError)
    assert "UNIQUE constraint failed" in str(doubled.exception())
    assert said(database) == ["a", "b"]


def test_a_failing_database_fails_every_writer_and_writes_nothing(
    database: CountingDatabase,
) -> None:
    def fail(connection: Connection) -> None:
        connection.execute("PRAGMA max_page_count = 1")
        connection.execute(f"INSERT INTO said VALUES ('{'x' * 20_000}')")

    queue = WriteQueue(database)
    with gathered(database, queue) as submit:
        futures = [submit(act) for act in (say("a"), fail, say("b"))]
    errors = [future.exception() for future in futures]
    assert all(isinstance(error, LogUnavailable) and "full" in str(error) for error in errors)
    assert len({id(error) for error in errors}) == 3
    assert said(database) == []
    assert queue.run(say("c"), durable=True) == "C"


def test_a_batch_has_its_limits_and_the_next_in_line_leads_the_next(
    database: CountingDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "BATCH_WRITES", 3)
    monkeypatch.setattr(write_queue, "BATCH_CHARACTERS", 100)
    queue = WriteQueue(database)
    with gathered(database, queue) as submit:
        small = [submit(say(f"small {number}")) for number in range(7)]
        large = [submit(say(f"large {number}"), size=100) for number in range(2)]
    for future in [*small, *large]:
        future.result()
    assert said(database) == [f"small {n}" for n in range(7)] + ["large 0", "large 1"]
    assert len(database.transactions) == 4


def test_an_act_whose_thread_was_interrupted_before_its_turn_is_taken_back(
    database: CountingDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = WriteQueue(database)

    class InterruptedBell:
        def acquire(self) -> None:
            raise KeyboardInterrupt

    entry = write_queue._QueuedWrite
    with gathered(database, queue) as submit:
        first = submit(say("a"))
        with monkeypatch.context() as patched:

            def interrupted(*arguments: Any) -> write_queue._QueuedWrite:
                made = entry(*arguments)
                made.wakeup = InterruptedBell()  # type: ignore[assignment]
                return made

            patched.setattr(write_queue, "_QueuedWrite", interrupted)
            with pytest.raises(KeyboardInterrupt):
                queue.run(say("interrupted"), durable=True)
        last = submit(say("b"))
    assert (first.result(), last.result()) == ("A", "B")
    assert said(database) == ["a", "b"]


def test_an_interrupt_in_the_transaction_rolls_it_back_and_the_queue_continues(
    database: CountingDatabase,
) -> None:
    def interrupt(connection: Connection) -> None:
        raise KeyboardInterrupt

    queue = WriteQueue(database)
    with gathered(database, queue) as submit:
        first = submit(interrupt)
        other = submit(say("a"))
    assert isinstance(first.exception(), KeyboardInterrupt)
    assert isinstance(other.exception(), LogUnavailable)
    assert said(database) == []
    assert queue.run(say("b"), durable=True) == "B"


def test_exceptions_of_the_driver_are_translated(database: CountingDatabase) -> None:
    def broken() -> None:
        with database.snapshot() as connection:
            connection.execute("SELECT * FROM nothing")

    with pytest.raises(sqlite3.OperationalError) as caught:
        broken()
    assert isinstance(database.translated(caught.value), LogUnavailable)
    assert database.translated(ValueError("other")) is None


class Refusal(Exception):
    """Of a class of our own: only such can be referred to weakly."""


def test_a_delivered_refusal_keeps_no_object_alive(database: CountingDatabase) -> None:
    def act(connection: Connection) -> None:
        raise Refusal

    database.open.set()
    heard: list[weakref.ref[Refusal]] = []
    gc.collect()
    gc.disable()
    try:
        try:
            WriteQueue(database).run(act, durable=True)
        except Refusal as refusal:
            heard.append(weakref.ref(refusal))
        assert [each() for each in heard] == [None]
    finally:
        gc.enable()
