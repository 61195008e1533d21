"""The log in PostgreSQL: what it says when the server cannot be used, and that it continues afterwards."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection
from sqlalchemy import create_engine, make_url, text

from hermes_jobs.errors import LogUnavailable, Misconfigured
from hermes_jobs.kernel.log import postgres, postgres_connection
from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.eventlog.changes import append, titles, write
from tests.proxy import Proxy
from tests.services import POSTGRES_URL, postgres_schema

pytestmark = pytest.mark.postgres
COMMIT = b"COMMIT\0"  # the statement, and no isolation level


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_schema() as url:
        yield url


@pytest.fixture
def postgres_log(url: str) -> Iterator[SqlEventLog]:
    log = open_log(url)
    yield log
    log.close()


@pytest.fixture
def server() -> Iterator[Any]:
    """A connection of somebody else."""
    engine = create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def process_ids(log: SqlEventLog) -> list[int]:
    """The server's processes that serve the log's idle connections."""
    with log.snapshot() as connection:
        return [connection.execute("SELECT pg_backend_pid()").fetchone()[0]]


def test_the_driver_need_not_be_named(url: str, postgres_log: SqlEventLog) -> None:
    other = open_log(url.replace("postgresql+psycopg://", "postgresql://"))
    assert other.log_id == postgres_log.log_id
    other.close()


def test_logs_in_different_schemas_are_different_logs(postgres_log: SqlEventLog) -> None:
    with postgres_schema() as url:
        other = open_log(url)
        postgres_log.append(append(write("session-a", "one")))
        assert other.log_id != postgres_log.log_id
        assert other.last_position() == 0
        other.close()


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(LogUnavailable, match=r"127\.0\.0\.1:1/db cannot be used: .*refused") as caught:
        open_log("postgresql://somebody:s3cret@127.0.0.1:1/db")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://u:s3cret@host:port/db", "postgresql://u:s3cret@[::1/db"])
def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        open_log(url)
    assert "s3cret" not in f"{caught.value}{caught.value.hint}{caught.value.__cause__}"


def test_a_missing_schema_is_named_as_the_reason(url: str) -> None:
    with pytest.raises(LogUnavailable, match="no schema to hold the tables"):
        open_log(f"{url}_absent")


def test_a_connection_that_was_lost_while_idle_is_replaced(postgres_log: SqlEventLog, server: Any) -> None:
    postgres_log.append(append(write("session-a", "one")))
    for process in process_ids(postgres_log):
        server.execute(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})
    postgres_log.append(append(write("session-a", "two")))
    assert titles(postgres_log.tail()) == ["one", "two"]


def test_a_connection_is_tested_after_a_rest_alone(
    postgres_log: SqlEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = 0
    execute = postgres_connection.TimeoutConnection.execute

    def counted(driver: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal tests
        tests += query == b""
        return execute(driver, query, *arguments, **named)

    postgres_log.append(append(write("session-a", "one")))
    monkeypatch.setattr(postgres_connection.TimeoutConnection, "execute", counted)
    postgres_log.append(append(write("session-a", "two")))
    assert tests == 0
    monkeypatch.setattr(postgres_connection, "FRESH", 0.0)
    postgres_log.append(append(write("session-a", "three")))
    assert tests == 1


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such option")
def test_a_server_that_the_network_has_swallowed_is_given_up_long_before_the_system_would(
    postgres_log: SqlEventLog,
) -> None:
    with postgres_log._reading() as connection:
        file = os.dup(connection._connection.fileno())  # type: ignore[attr-defined]
    with socket.socket(fileno=file) as used:
        milliseconds = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert 0 < milliseconds <= 60_000


def test_a_connection_that_is_lost_at_work_loses_that_work_alone(
    postgres_log: SqlEventLog, server: Any
) -> None:
    def lose() -> None:
        with postgres_log.snapshot() as connection:
            (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
            server.execute(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})
            connection.execute("SELECT 1")

    with pytest.raises(LogUnavailable):
        lose()
    postgres_log.append(append(write("session-a", "one")))
    assert titles(postgres_log.tail()) == ["one"]


def test_a_writer_that_is_lost_at_its_turn_has_written_nothing(
    postgres_log: SqlEventLog, server: Any
) -> None:
    def lose(connection: Any) -> None:
        process = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
        server.execute(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})

    with pytest.raises(LogUnavailable):
        postgres_log._queue.run(lose, durable=True)
    postgres_log.append(append(write("session-a", "one")))
    assert titles(postgres_log.tail()) == ["one"]


def test_a_lost_connection_is_recognised_by_its_error(
    postgres_log: SqlEventLog, server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def lose(connection: Any) -> None:
        process = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
        server.execute(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})
        connection.execute("SELECT 1")

    def lose_reading() -> None:
        with postgres_log._reading() as connection:
            lose(connection)

    with pytest.raises(LogUnavailable, match="terminating connection"):
        lose_reading()
    with pytest.raises(LogUnavailable):
        postgres_log._queue.run(lose, durable=True)
    assert caplog.messages == []
    assert postgres_log.last_position() == 0


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for the turn is told, and gives up, after a moment."""
    monkeypatch.setattr(postgres, "NOTICE_SECONDS", 0.01)
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 0.02)


@pytest.mark.usefixtures("hurry")
def test_a_write_lock_that_stays_taken_is_given_up_with_its_holder(
    url: str, postgres_log: SqlEventLog, caplog: pytest.LogCaptureFixture
) -> None:
    other = open_log(url)
    holder = rf"server process \d+ \(hermes-jobs {os.getpid()}@.*; idle in transaction for \d+ s\)"
    given_up = pytest.raises(LogUnavailable, match=f"was locked for .* at last by {holder}")
    with postgres_log._database.write_lock(), given_up:
        other.append(append(write("session-a", "lost")))
    assert re.search(f"Waiting for the log at .*: {holder} writes to it", caplog.text)
    other.append(append(write("session-a", "one")))
    assert titles(other.tail()) == ["one"]
    other.close()


def test_a_read_only_database_is_named_as_the_reason(url: str, postgres_log: SqlEventLog) -> None:
    standby = open_log(f"{url}%20-cdefault_transaction_read_only%3Don")
    with pytest.raises(LogUnavailable, match="is read-only"):
        standby.append(append(write("session-a", "lost")))
    assert list(standby.tail()) == []
    standby.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A way to the server on which everything may vanish."""
    there = make_url(POSTGRES_URL)
    with Proxy(there.host or "127.0.0.1", there.port or 5432) as proxy:
        yield proxy


@pytest.fixture
def distant(url: str, proxy: Proxy) -> Iterator[SqlEventLog]:
    """The log as a process sees it that reaches it through the proxy."""
    through = make_url(url).set(host="127.0.0.1", port=proxy.port).update_query_dict({"connect_timeout": "2"})
    log = open_log(through.render_as_string(hide_password=False))
    yield log
    log.close()


def test_a_writer_that_vanishes_in_its_append_blocks_no_other(
    postgres_log: SqlEventLog, distant: SqlEventLog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(postgres._LIMITS, "idle_in_transaction_session_timeout", "300ms")

    def vanish(connection: Any) -> None:
        connection.execute("SELECT 1")
        proxy.swallow()
        postgres_log.append(append(write("session-a", "one")))
        proxy.forward()
        connection.execute("SELECT 1")

    ended = "has ended this process's append: it had said nothing|cannot be used: "
    with pytest.raises(LogUnavailable, match=ended):  # the server's last word may be lost with the connection
        distant._queue.run(vanish, durable=True)
    distant.append(append(write("session-a", "two")))
    assert titles(postgres_log.tail()) == ["one", "two"]


def test_a_commit_whose_answer_was_lost_is_no_failure(distant: SqlEventLog, proxy: Proxy) -> None:
    proxy.lose_answer_to(COMMIT)
    assert titles(distant.append(append(write("session-a", "one")))) == ["one"]
    assert titles(distant.tail()) == ["one"]


def test_a_commit_that_never_arrived_is_a_failure(
    distant: SqlEventLog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "DOUBT_SECONDS", 0.0)
    commit = Connection.commit

    def cut(connection: Any) -> None:
        proxy.cut()
        commit(connection)

    monkeypatch.setattr(Connection, "commit", cut)
    with pytest.raises(LogUnavailable):
        distant.append(append(write("session-a", "lost")))
    monkeypatch.undo()
    distant.append(append(write("session-a", "one")))
    assert titles(distant.tail()) == ["one"]


def test_a_server_that_stays_away_after_a_lost_commit_is_not_waited_for_without_end(
    distant: SqlEventLog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "DOUBT_SECONDS", 0.1)
    status = postgres._STATUS
    monkeypatch.setattr(postgres, "_STATUS", "SELECT 'in progress'")
    proxy.lose_answer_to(COMMIT)
    with pytest.raises(LogUnavailable):
        distant.append(append(write("session-a", "one")))
    monkeypatch.setattr(postgres, "_STATUS", status)
    assert titles(distant.tail()) == ["one"]


def test_a_writer_may_be_silent_for_less_time_than_others_wait() -> None:
    assert 2 * postgres.IDLE_SECONDS < postgres.LOCK_SECONDS < 30
    assert postgres.LOCK_SECONDS < postgres_connection.ANSWER_SECONDS


def test_a_server_whose_answers_vanish_is_given_up_and_asked_again_when_it_is_back(
    distant: SqlEventLog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection.TimeoutConnection, "answer_seconds", 0.3)
    distant.append(append(write("session-a", "one")))
    proxy.swallow()
    with pytest.raises(LogUnavailable, match="cannot be used: "):
        distant.last_position()
    proxy.forward()
    assert titles(distant.tail()) == ["one"]


def test_a_lost_query_is_reported_as_a_silent_server(
    distant: SqlEventLog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection.TimeoutConnection, "answer_seconds", 0.3)

    def ask() -> None:
        with distant._reading() as connection:
            connection.execute("SELECT 1")
            proxy.swallow()
            connection.execute("SELECT 1")

    with pytest.raises(LogUnavailable, match="the server has said nothing for"):
        ask()


def test_no_event_is_seen_by_anybody_before_it_is_on_disk(
    postgres_log: SqlEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker outlives the server's crash, and would continue from an event that was never there."""
    said: list[str] = []
    execute = postgres_connection.NamedConnection.execute

    def heard(connection: Any, sql: str, *values: Any) -> Any:
        said.append(sql)
        return execute(connection, sql, *values)

    monkeypatch.setattr(postgres_connection.NamedConnection, "execute", heard)
    postgres_log.append(append(write("session-a", "one"), durable=False))
    assert not [each for each in said if "synchronous_commit" in each]
    postgres_log.heartbeat("nobody")
    assert [each for each in said if "synchronous_commit = off" in each]
