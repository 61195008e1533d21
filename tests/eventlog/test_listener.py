"""Writers on other hosts are heard from PostgreSQL, where the connection is the server's own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_jobs.kernel.log import listener
from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.kernel.log.postgres import PostgresDatabase
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.eventlog.changes import append, write
from tests.pgbouncer import pgbouncer_url
from tests.services import postgres_schema
from tests.tools.support import wait_until

pytestmark = pytest.mark.postgres
PATIENCE = 20.0


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_schema() as url:
        yield url


@pytest.fixture
def waiting(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlEventLog]:
    """A log that hears others, and seldom looks by itself."""
    monkeypatch.setattr(listener, "RETRY_SECONDS", 0.0)
    log = open_log(url, notifier_folder=tmp_path / "waiting")
    monkeypatch.setattr(log._database, "rung_poll_seconds", 3 * PATIENCE)
    wait_until(lambda: hears(log), "it hears")
    yield log
    log.close()


def hears(log: SqlEventLog) -> bool:
    return log._database.subscribe(log._on_notification)


def listeners(log: SqlEventLog) -> list[int]:
    """The server's processes that serve the log's listener."""
    with log.snapshot() as connection:
        [(name,)] = connection.execute("SELECT current_setting('application_name')").fetchall()
        query = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name = :name"
        return [pid for (pid,) in connection.execute(query.replace("%", "%%"), {"name": name}).fetchall()]


def test_a_writer_of_another_host_wakes_a_log_that_rarely_polls(
    waiting: SqlEventLog, url: str, tmp_path: Path
) -> None:
    writing = open_log(url, notifier_folder=tmp_path / "another-host")
    with ThreadPoolExecutor(1) as pool:
        news = pool.submit(waiting.wait, 0, 2 * PATIENCE)
        writing.append(append(write("session-a", "one")))
        assert news.result(PATIENCE)
    writing.close()


def test_after_a_lost_connection_it_hears_again(waiting: SqlEventLog) -> None:
    lost = listeners(waiting)
    with waiting.snapshot() as connection:
        connection.execute("SELECT pg_terminate_backend(:pid)", {"pid": lost[0]})
    wait_until(lambda: len(listeners(waiting)) == 1 and listeners(waiting) != lost, "it listens again")
    wait_until(lambda: hears(waiting), "it hears again")


def test_processes_that_notify_each_other_by_a_folder_have_one_origin(url: str, tmp_path: Path) -> None:
    same = [PostgresDatabase(url, notifier_folder=tmp_path)._origin for _ in range(2)]
    others = [PostgresDatabase(url, notifier_folder=place)._origin for place in (tmp_path / "b", None, None)]
    assert len({*same, *others}) == 4


def test_behind_a_pool_it_looks_often(tmp_path: Path) -> None:
    with pgbouncer_url() as url:
        waiting, writing = (open_log(url, notifier_folder=tmp_path / name) for name in ("a", "b"))
        hears(waiting)
        found = waiting._database._listener  # type: ignore[attr-defined]
        wait_until(lambda: not found._thread.is_alive(), "it gave up")
        assert not hears(waiting)
        with ThreadPoolExecutor(1) as pool:
            news = pool.submit(waiting.wait, 0, 2 * PATIENCE)
            writing.append(append(write("session-a", "one")))
            assert news.result(PATIENCE)
        waiting.close()
        writing.close()
