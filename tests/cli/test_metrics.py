"""Metrics are what log and views say, in a form that Prometheus reads."""

from __future__ import annotations

import socket
import subprocess
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_jobs.kernel.log.log import WorkerRow
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.steps import next_steps
from tests.processes import ROOT
from tests.tools.support import wait_until
from tests.written_home import WrittenHome


@pytest.fixture
def lived(home: WrittenHome) -> WrittenHome:
    """Two turns done, one of them with a tool that a dead worker had left, one cancelled, one due."""
    home.answered("s1", "t1")
    home.submit("s1", "t2")
    home.prefetch("s1")
    (step,) = next_steps(home.session("s1"))
    home.do("s1", c.BeginStep(step=step.id))
    home.do("s1", c.AbandonStep(step=step.id, worker="w0", reason="died"))
    home.reply("s1", "", "terminal")
    home.run_tool("s1", "done")
    home.reply("s1", "done", cost_usd=None)
    home.record("s1")
    home.submit("s2", "t3")
    home.do("s2", c.CancelTurn(turn="t3", by="user"))
    home.submit("s3", "t4", "a private question")
    home.submit("s4", "t5")
    home.prefetch("s4")
    home.reply("s4", "", "terminal", approval=True)
    worker = WorkerRow(
        id="w1", name="worker", locks="elsewhere", queues=("turns", "tools"), beats=1, build_level=1
    )
    home.log.register(worker)
    return home


def samples(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every sample by its name and the values of its labels, in the order of those labels' names."""
    return {
        (sample.name.removeprefix("hermes_jobs_"), tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


EXPECTED = {
    ("up", ()): 1,
    ("queue_waiting", ("turns",)): 1,
    ("queue_later", ("tools",)): 1,
    ("queue_workers", ("tools",)): 1,
    ("queue_workers", ("reviews",)): 0,
    ("workers", ()): 1,
    ("turns", ("queued",)): 1,
    ("turns", ("running",)): 0,
    ("turns", ("waiting",)): 1,
    ("turn_duration_seconds_count", ("completed",)): 2,
    ("turn_duration_seconds_count", ("cancelled",)): 1,
    ("turn_duration_seconds_count", ("failed",)): 0,
    ("turn_duration_seconds_bucket", ("0.5", "completed")): 2,
    ("turn_duration_seconds_sum", ("completed",)): 0,
    ("tool_calls_total", ("ok", "terminal")): 1,
    ("takeovers_total", ()): 1,
    ("model_requests_total", ("m",)): 4,
    ("tokens_total", ("input", "m")): 400,
    ("tokens_total", ("output", "m")): 80,
    ("cost_usd_total", ("m",)): 0.75,
    ("unpriced_requests_total", ("m",)): 1,
}


def test_metrics_are_printed_once(lived: WrittenHome) -> None:
    printed = lived.run("metrics")
    assert printed.code == 0, printed
    found = samples(printed.out)
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED
    assert found["queue_oldest_waiting_seconds", ("turns",)] > 0
    assert found["events_total", ()] == lived.log.last_position()
    assert "private" not in printed.out


def test_a_text_that_a_model_wrote_as_a_tools_name_is_no_label(lived: WrittenHome) -> None:
    """Not its arguments, and no key; calls that were written so count as calls of that tool."""
    key = "sk-planted-0123456789"
    (lived.path / ".env").write_text(f"OPENAI_API_KEY={key}\n")
    (lived.path / ".env").chmod(0o600)
    names = ('terminal{"command": "a private word"}', "terminal private", key)
    for number, name in enumerate(names):
        lived.submit(f"n{number}", f"n{number}t")
        lived.prefetch(f"n{number}")
        lived.reply(f"n{number}", "", name)
        lived.run_tool(f"n{number}", "done")
    printed = lived.run("metrics")
    assert printed.code == 0, printed
    found = samples(printed.out)
    assert found["tool_calls_total", ("ok", "terminal")] == 3
    assert found["tool_calls_total", ("ok", "[REDACTED]")] == 1
    assert "private" not in printed.out
    assert key not in printed.out


def test_metrics_are_served_on_this_machine_and_follow_the_log(lived: WrittenHome) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/metrics"

    def scraped() -> dict[tuple[str, tuple[str, ...]], float]:
        with urlopen(url, timeout=30) as response:
            return samples(response.read().decode())

    def listens() -> bool:
        try:
            return bool(scraped())
        except (URLError, ConnectionError):
            return False

    serving = subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "metrics", "--port", str(port)],
        cwd=ROOT,
        env={"HERMES_JOBS_HOME": str(lived.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(listens, "the endpoint")
        assert {name: scraped().get(name) for name in EXPECTED} == EXPECTED
        lived.prefetch("s3")
        lived.reply("s3", "done")
        lived.record("s3")
        assert scraped()["turn_duration_seconds_count", ("completed",)] == 3
        taken = lived.run("metrics", "--port", str(port))
        assert taken.code == 2
        assert "Choose another port" in taken.err
    finally:
        serving.terminate()
        _, told = serving.communicate(timeout=60)
    assert serving.returncode == 0
    assert told == f"Metrics at {url}; Ctrl-C ends it.\n"
