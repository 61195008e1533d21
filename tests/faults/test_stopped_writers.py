"""A process that is stopped with a lock in its hands (by Ctrl-Z, say) keeps nobody from reading."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.home import Home
from tests.processes import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="others do not say who has SQLite's lock"),
]

IN_THE_MIDDLE_OF_AN_APPEND = """
import os, signal, sys
from pathlib import Path
from typing import Any
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
log = open_log(sqlite_url(Path(sys.argv[1]) / "events.db"))
with log._database.write_lock() as begin:
    begin(True).execute("DELETE FROM workers")
    os.kill(os.getpid(), signal.SIGSTOP)
"""
WITHOUT_THE_QUEUE = """
import os, signal, sqlite3, sys
shell = sqlite3.connect(f"{sys.argv[1]}/events.db", isolation_level=None)
shell.execute("BEGIN IMMEDIATE")
os.kill(os.getpid(), signal.SIGSTOP)
"""
WHILE_IT_TAKES_EVENTS_IN = """
import os, signal, sys
from pathlib import Path
from typing import Any
from hermes_jobs.kernel.views.sqlite import connect, transaction
from hermes_jobs.kernel.views.generations import Generations
connection = connect(Generations(Path(sys.argv[1]) / "views").current())
with transaction(connection, "IMMEDIATE"):
    connection.execute("UPDATE checkpoint SET position = position")
    os.kill(os.getpid(), signal.SIGSTOP)
"""
READING: tuple[tuple[str, ...], ...] = (
    ("turns", "list"),
    ("sessions", "list"),
    ("sessions", "search", "hello"),
    ("schedule", "list"),
    ("usage",),
    ("inbox", "list"),
    ("queues",),
    ("memory", "show"),
    ("skills", "list"),
    ("reviews", "list"),
    ("events",),
    ("events", "verify"),
    ("views", "status"),
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home on SQLite with a schedule in it."""
    home = Home(tmp_path, {})
    add_schedule(home)
    assert len(schedules(home)) == 1
    return home


def add_schedule(home: Home) -> None:
    words = ("--every", "1h", "--task", "Water the roses.", "--yes")
    assert home.run("schedule", "add", *words).code == 0


def schedules(home: Home) -> Any:
    return home.run("schedule", "list", "--json").json


@contextmanager
def stopped(code: str, home: Home) -> Iterator[int]:
    """A process that runs this until it stops itself; its id. It continues in the end."""
    holder = subprocess.Popen([sys.executable, "-c", code, str(home.path)], cwd=ROOT)
    try:
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        yield holder.pid
    finally:
        holder.send_signal(signal.SIGCONT)
        holder.wait()


def answers(home: Home) -> dict[str, str]:
    """What each reading command said on standard error; it has answered."""
    said = {}
    for words in READING:
        ran = home.run(*words)
        assert ran.code == 0, (words, ran)
        said[" ".join(words)] = ran.err
    return said


@pytest.mark.parametrize("code", [IN_THE_MIDDLE_OF_AN_APPEND, WITHOUT_THE_QUEUE])
def test_everything_can_be_read_while_a_stopped_process_has_the_logs_write_lock(
    home: Home, code: str
) -> None:
    with stopped(code, home):
        said = answers(home)
        assert len(schedules(home)) == 1
    assert not [each for each in said.values() if "Waiting" in each]


def test_everything_can_be_read_while_a_stopped_process_has_the_views_write_lock(home: Home) -> None:
    with stopped(WHILE_IT_TAKES_EVENTS_IN, home) as pid:
        add_schedule(home)
        ran = home.run("schedule", "list", "--json")
        assert len(ran.json) == 2, "what the stopped process has not taken in is there"
        assert re.search(rf"The views are locked: process {pid} \(.*; stopped; .*\) takes events in", ran.err)
        answers(home)
    assert len(schedules(home)) == 2


def test_a_waiting_writer_names_the_process_it_waits_for(home: Home) -> None:
    words = ("schedule", "add", "--every", "1h", "--task", "Feed the cat.", "--yes")
    with stopped(IN_THE_MIDDLE_OF_AN_APPEND, home) as pid, home.start(*words) as adding:
        adding.wait_for("Waiting for the log, to write to it: ")
        known = rf"process {pid} \(.*; stopped; `kill -CONT {pid}` lets it continue\) has it\."
        assert re.search(known, adding.err)
        os.kill(pid, signal.SIGCONT)
        assert adding.end().code == 0


def test_a_write_behind_a_stopped_writer_fails_as_unavailable_and_nothing_is_recorded(home: Home) -> None:
    words = ("schedule", "add", "--every", "1h", "--task", "Feed the cat.", "--yes")
    with stopped(IN_THE_MIDDLE_OF_AN_APPEND, home) as pid:
        ran = home.run(*words)
        assert ran.code == 5
        assert re.search(rf"process {pid} \(.*\) has kept it locked for 30 s\. Let that", ran.err)
        assert len(schedules(home)) == 1
    assert home.run(*words).code == 0
    assert len(schedules(home)) == 2


def test_doctor_names_the_process_that_blocks_the_log(home: Home) -> None:
    with stopped(IN_THE_MIDDLE_OF_AN_APPEND, home) as pid:
        ran = home.run("doctor", "--json")
    assert f"process {pid} (" in ran.err
    (found,) = [each for each in ran.json["checks"] if each["check"] == "log"]
    assert found["status"] == "fail"
    assert "another process has kept its write lock" in found["message"]
