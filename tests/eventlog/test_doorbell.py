"""Who waits for the log is told by who writes to it, though neither needs the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.notifier import ProcessNotifier
from tests.eventlog.changes import append, write
from tests.tools.support import wait_until

PATIENCE = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "doorbells"


@pytest.fixture
def listening(folder: Path) -> Iterator[tuple[ProcessNotifier, threading.Event]]:
    doorbell, heard = ProcessNotifier(folder), threading.Event()
    doorbell.subscribe(heard.set)
    yield doorbell, heard
    doorbell.close()


def test_a_ring_wakes_every_other_process(
    folder: Path, listening: tuple[ProcessNotifier, threading.Event]
) -> None:
    _, heard = listening
    ProcessNotifier(folder).notify()
    assert heard.wait(PATIENCE)


def test_later_rings_wake_them_too(folder: Path, listening: tuple[ProcessNotifier, threading.Event]) -> None:
    _, heard = listening
    other = ProcessNotifier(folder)
    for _ in range(20):
        heard.clear()
        other.notify()
        assert heard.wait(PATIENCE)


def test_more_rings_than_a_pipe_holds_do_not_block(folder: Path) -> None:
    doorbell, reached, going_on = ProcessNotifier(folder), threading.Event(), threading.Event()

    def be_slow() -> None:
        reached.set()
        going_on.wait(PATIENCE)

    doorbell.subscribe(be_slow)
    other = ProcessNotifier(folder)
    other.notify()
    assert reached.wait(PATIENCE)
    [path] = folder.iterdir()
    pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, b"!" * 4096)
    other.notify()
    os.close(pipe)
    going_on.set()
    doorbell.close()


def test_a_pipe_without_a_reader_is_deleted(
    folder: Path, listening: tuple[ProcessNotifier, threading.Event]
) -> None:
    os.mkfifo(folder / "dead")
    ProcessNotifier(folder).notify()
    assert not (folder / "dead").exists()
    assert len(list(folder.iterdir())) == 1


def test_ringing_without_listeners_does_nothing(folder: Path) -> None:
    ProcessNotifier(folder).notify()
    assert not folder.exists()


def test_without_pipes_there_are_no_listeners(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    doorbell = ProcessNotifier(tmp_path / "file")
    doorbell.subscribe(lambda: None)
    doorbell.notify()
    doorbell.close()


def test_closing_removes_the_pipe(folder: Path) -> None:
    doorbell = ProcessNotifier(folder)
    doorbell.subscribe(lambda: None)
    doorbell.close()
    assert list(folder.iterdir()) == []


def test_a_log_that_rarely_polls_is_woken_by_another_writer(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = sqlite_url(tmp_path / "events.db")
    waiting, writing = (open_log(url, notifier_folder=folder) for _ in range(2))
    monkeypatch.setattr(waiting._database, "rung_poll_seconds", 3 * PATIENCE)
    with ThreadPoolExecutor(1) as pool:
        news = pool.submit(waiting.wait, 0, 2 * PATIENCE)
        wait_until(lambda: any(folder.glob("[!.]*")), "somebody listens")
        writing.append(append(write("session-a", "one")))
        assert news.result(PATIENCE)
    waiting.close()
    writing.close()


def test_a_writer_that_does_not_ring_is_noticed_all_the_same(tmp_path: Path, folder: Path) -> None:
    url = sqlite_url(tmp_path / "events.db")
    waiting, killed_before_it_rings = open_log(url, notifier_folder=folder), open_log(url)
    with ThreadPoolExecutor(1) as pool:
        news = pool.submit(waiting.wait, 0, 2 * PATIENCE)
        wait_until(lambda: any(folder.glob("[!.]*")), "somebody listens")
        killed_before_it_rings.append(append(write("session-a", "one")))
        assert news.result(PATIENCE)
    waiting.close()
    killed_before_it_rings.close()


def test_a_log_without_a_pipe_polls_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    url = sqlite_url(tmp_path / "events.db")
    waiting, writing = open_log(url, notifier_folder=tmp_path / "file"), open_log(url)
    monkeypatch.setattr(waiting._database, "rung_poll_seconds", 3 * PATIENCE)
    with ThreadPoolExecutor(1) as pool:
        news = pool.submit(waiting.wait, 0, 2 * PATIENCE)
        writing.append(append(write("session-a", "one")))
        assert news.result(PATIENCE)
    waiting.close()
    writing.close()
