"""The log in one SQLite file: its place, its use of the disk, and its errors when it cannot continue."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat, starmap
from pathlib import Path

import pytest

from hermes_jobs.errors import Corrupt, LogUnavailable, Misconfigured
from hermes_jobs.kernel.log import sqlite
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.system import file_lock
from tests.eventlog.changes import append, titles, write
from tests.small_disk import SmallDisk, mounted

HOLDER = rf"process {os.getpid()} \(.*\)" if sys.platform == "linux" else "another program"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


@pytest.fixture
def sqlite_log(path: Path) -> Iterator[SqlEventLog]:
    log = open_log(sqlite_url(path))
    yield log
    log.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted(tmp_path / "disk") as disk:
        yield disk


@pytest.mark.parametrize("folder", ["with space", "ünïcode 😀", "what?", "100%25 & #1", "a+b;c"])
def test_the_file_may_lie_anywhere(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "events.db"
    path.parent.mkdir()
    log = open_log(sqlite_url(path))
    log.append(append(write("session-a", "one")))
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "events.db",
        "events.db-shm",
        "events.db-wal",
        "events.db.lock",
    ]
    log.close()


def test_only_its_owner_may_read_the_log(path: Path, sqlite_log: SqlEventLog) -> None:
    sqlite_log.append(append(write("session-a", "one")))
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_link_to_the_file_is_the_same_log(path: Path, sqlite_log: SqlEventLog) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    linked = open_log(sqlite_url(link))
    assert linked.log_id == sqlite_log.log_id
    linked.close()
    assert not link.with_name("link.db.lock").exists()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "mysql://root:secret@host/db", "events.db", ""])
def test_other_urls_are_refused_without_their_passwords(url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        open_log(url)
    assert "secret" not in f"{caught.value}{caught.value.hint}"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable, match=r"missing.* cannot be opened"):
        open_log(sqlite_url(tmp_path / "missing" / "events.db"))


def test_a_file_of_another_kind_is_left_alone(path: Path) -> None:
    path.write_bytes(b"not a database, but somebody's text\n" * 100)
    with pytest.raises(Corrupt, match="is not a SQLite database"):
        open_log(sqlite_url(path))
    assert path.read_bytes().startswith(b"not a database")


def test_a_damaged_page_is_reported_as_damage(path: Path) -> None:
    log = open_log(sqlite_url(path))
    log.append(append(*(write(f"session-{n}", "x" * 500) for n in range(100))))
    log.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(Corrupt, match="is damaged"):
        open_log(sqlite_url(path)).tail()


def test_a_program_that_keeps_the_file_locked_is_named_as_the_reason(
    path: Path, sqlite_log: SqlEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    shell = sqlite3.connect(path, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    told: list[str] = []
    hurried = open_log(sqlite_url(path), notify=told.append)
    assert list(sqlite_log.tail()) == list(hurried.tail()) == [], "reading waits for nobody"
    with pytest.raises(LogUnavailable, match=rf"was locked for 0 s by {HOLDER}"):
        hurried.append(append(write("session-a", "lost")))
    assert re.fullmatch(f"Waiting for the log, to write to it: {HOLDER} has it locked\\.", "".join(told))
    shell.close()
    hurried.append(append(write("session-a", "one")))
    assert titles(hurried.tail()) == ["one"]
    hurried.close()


def test_a_waiting_writer_is_told_the_lock_holder_and_readers_never_wait(
    path: Path, sqlite_log: SqlEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "NOTIFY_AFTER", 0.01)
    told, known = [], threading.Event()

    def notify(text: str) -> None:
        told.append(text)
        known.set()

    with stopped_writer(path) as holder:
        other = open_log(sqlite_url(path), notify=notify)
        writer = threading.Thread(target=lambda: other.append(append(write("session-a", "one"))))
        writer.start()
        assert known.wait(60)
        third = open_log(sqlite_url(path))
        assert list(third.tail()) == list(other.tail()) == []
        third.close()
    writer.join()
    assert titles(other.tail()) == ["one"]
    stopped = rf"stopped; `kill -CONT {holder.pid}` lets it continue"
    (said,) = told
    assert re.fullmatch(
        rf"Waiting for the log, to write to it: process {holder.pid} \(.*; {stopped}\) has it\.", said
    )
    other.close()


def test_an_append_behind_a_stopped_writer_fails_and_succeeds_after_it_continues(
    path: Path, sqlite_log: SqlEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.05)
    hurried = open_log(sqlite_url(path), notify=lambda _text: None)
    with stopped_writer(path) as holder:
        known = rf"process {holder.pid} \(.*; stopped; .*\) has kept it locked for 0 s\. Let that"
        for _ in range(2):
            with pytest.raises(LogUnavailable, match=known):
                hurried.append(append(write("session-a", "lost")))
    sqlite_log.append(append(write("session-a", "one")))  # the lock that came too late was let go
    hurried.append(append(write("session-a", "two", expected=1)))
    assert titles(hurried.tail()) == ["one", "two"]
    hurried.close()


def test_a_log_can_be_closed_while_a_stopped_writer_has_its_lock(
    path: Path, sqlite_log: SqlEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.05)
    hurried = open_log(sqlite_url(path), notify=lambda _text: None)
    with stopped_writer(path):
        with pytest.raises(LogUnavailable):
            hurried.append(append(write("session-a", "lost")))
        hurried.close()
    sqlite_log.append(append(write("session-a", "one")))
    assert titles(sqlite_log.tail()) == ["one"]


@contextmanager
def stopped_writer(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is stopped with the turn to write; it has ended afterwards."""
    command = [sys.executable, "-c", HOLD_AND_STOP, sqlite_url(path)]
    holder = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    try:
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        yield holder
    finally:
        holder.send_signal(signal.SIGCONT)
        holder.wait()


HOLD_AND_STOP = """
import os, signal, sys
from hermes_jobs.kernel.log.factory import open_log
log = open_log(sys.argv[1])
with log._database.write_lock() as begin:
    begin(True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_full_disk_loses_nothing_and_the_log_continues_when_there_is_space(small_disk: SmallDisk) -> None:
    log = open_log(sqlite_url(small_disk.path / "events.db"))
    ballast = small_disk.path / "ballast"
    ballast.write_bytes(b"x" * 200_000)
    with pytest.raises(LogUnavailable, match=r"the disk is full\. Free some space"):
        list(starmap(fill, repeat((log,))))
    count = log.last_position()
    assert count > 5
    assert len(log.read("session-a")) == count
    ballast.unlink()
    log.append(append(write("session-a", "again", expected=count)))
    assert len(log.read("session-a")) == count + 1
    assert verify(log).findings == ()
    log.close()


def fill(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "x" * 10_000, expected=log.last_position())))


def test_a_disk_that_becomes_read_only_is_named_as_the_reason(small_disk: SmallDisk) -> None:
    log = open_log(sqlite_url(small_disk.path / "events.db"))
    log.append(append(write("session-a", "one")))
    log.close()
    assert small_disk.mount("remount,ro")
    with pytest.raises(LogUnavailable, match="Read-only file system"):
        open_log(sqlite_url(small_disk.path / "events.db"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_named_as_the_reason(path: Path) -> None:
    open_log(sqlite_url(path)).close()
    path.chmod(0o400)
    with pytest.raises(LogUnavailable, match="is read-only"):
        open_log(sqlite_url(path))


def test_a_connection_that_may_not_write_says_so(sqlite_log: SqlEventLog) -> None:
    def clear() -> None:
        with sqlite_log.snapshot() as connection:
            connection.execute("PRAGMA query_only = on")
            connection.execute("DELETE FROM events")

    with pytest.raises(LogUnavailable, match="is read-only"):
        clear()


WRITE = """
import sys
from hermes_jobs.kernel.log.factory import open_log
from tests.eventlog.changes import append, write
log = open_log(sys.argv[1])
for number in range(50):
    log.append(append(write("session-a", str(number)), durable=sys.argv[2] == "durable"))
"""


def syncs(path: Path, how: str) -> int:
    """How often a process that appends 50 times waits for the disk."""
    trace = path.with_suffix(f".{how}")
    command = ["strace", "-f", "-o", str(trace), "-e", "trace=fsync,fdatasync"]
    command += [sys.executable, "-c", WRITE, sqlite_url(path), how]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    return sum("sync(" in line for line in trace.read_text().splitlines())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts what the disk is asked for")
def test_only_durable_appends_wait_for_the_disk(path: Path) -> None:
    open_log(sqlite_url(path)).close()
    assert syncs(path, "relaxed") < 10
    assert 50 <= syncs(path, "durable") < 70
