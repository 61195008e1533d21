"""`queues --watch`: drawn on a terminal, a line a change in a pipe."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from hermes_jobs.client.queues import LiveWorker, QueueLoad, QueueStats, age
from hermes_jobs.interfaces.cli.queue_watch import sparkline, summary_line
from hermes_jobs.kernel.turns.titles import printable
from tests.eventlog.changes import claim
from tests.processes import ROOT
from tests.tools.support import wait_until
from tests.written_home import WrittenHome


def test_an_age_has_a_fitting_unit() -> None:
    assert [age(each) for each in (None, 0.7, 9.96, 214, 43_200)] == [
        "",
        "700 ms",
        "10.0 s",
        "3 min 34 s",
        "12 h",
    ]


def test_steps_of_a_dead_worker_are_waiting(home: WrittenHome) -> None:
    home.submit("aa", "t1")
    (row,) = home.log.steps()
    home.log.append(claim(row.step.id, owner="worker-gone"))

    (turns, *_) = home.run("queues", "--json").json["queues"]

    assert (turns["name"], turns["waiting"], turns["running"]) == ("turns", 1, 0)


class Watching:
    """The command under way, and what it has written so far."""

    def __init__(self, process: subprocess.Popen[bytes], source: int) -> None:
        self.process = process
        self.written = b""
        self._source = source
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while piece := os.read(self._source, 65536):
                self.written += piece
        except OSError:  # Linux reports so that the other side was closed
            pass

    @property
    def text(self) -> str:
        return printable(self.written.decode(errors="replace"))

    def leave(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        self._reader.join(60)
        return code


@contextmanager
def watching(home: WrittenHome, *arguments: str, terminal: bool) -> Iterator[Watching]:
    ours, theirs = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "queues", "--watch", *arguments],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HERMES_JOBS_HOME": str(home.path),
            "COLUMNS": "80",
            "TERM": "xterm-256color",
        },
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Watching(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_pipe_gets_a_line_a_change_and_ctrl_c_is_a_good_end(home: WrittenHome) -> None:
    with watching(home, terminal=False) as watch:
        wait_until(lambda: "no steps are waiting or running; 0 workers" in watch.text, "the first line")
        home.submit("aa", "t1")
        wait_until(lambda: "turns 1 waiting (oldest" in watch.text, "the change")
        assert watch.leave() == 0
    lines = watch.text.splitlines()
    assert len(lines) == 2, "the same is not said twice"
    assert "Traceback" not in watch.text


def test_scripts_get_a_value_a_change(home: WrittenHome) -> None:
    with watching(home, "--json", terminal=False) as watch:
        wait_until(lambda: '"workers":[]}' in watch.text, "the first value")
        assert watch.leave() == 0
    (line,) = watch.text.splitlines()
    assert line.startswith('{"queues":[{"name":"turns","waiting":0')


def test_a_terminal_is_drawn_on(home: WrittenHome) -> None:
    home.submit("aa", "t1")
    with watching(home, terminal=True) as watch:
        wait_until(lambda: "Ctrl-C leaves." in watch.text, "the screen")
        assert watch.leave() == 0
    assert "\x1b[?25h" in watch.written.decode(), "the cursor is there again"
    row = next(line for line in watch.text.splitlines() if line.startswith("turns"))
    assert row.split()[:2] == ["turns", "1"]
    assert "No workers are alive" in watch.text
    assert max(len(line.rstrip()) for line in watch.text.splitlines()) <= 80


def test_a_line_names_the_queues_that_are_not_empty() -> None:
    queues = (
        QueueLoad(name="turns", waiting=3, running=1, later=0, oldest_seconds=4.2),
        QueueLoad(name="tools", waiting=0, running=2, later=0, oldest_seconds=None),
        QueueLoad(name="reviews", waiting=0, running=0, later=5, oldest_seconds=None),
    )
    worker = LiveWorker(name="w", queues=("turns",), running=3, seen_seconds_ago=0.1)
    line = summary_line(QueueStats(queues=queues, workers=(worker,)), datetime.now(UTC))
    assert line[10:] == "turns 3 waiting (oldest 4.2 s), 1 running; tools 0 waiting, 2 running; 1 worker"


@pytest.mark.parametrize(
    ("values", "drawn"), [([0, 0], ""), ([0, 8, 4, 1], " █▄▁"), ([1], "█"), ([0, 100, 1], " █▁")]
)
def test_a_sparkline_shows_whatever_is_there(values: list[int], drawn: str) -> None:
    assert sparkline(values) == drawn
