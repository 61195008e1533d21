"""A thousand webhooks, three times each, at a `serve` that is killed: `python -m tests.benchmarks hooks`.

Every delivery has to start one turn, whatever was killed. The baseline of the time is the command line:
`trigger NAME --key K`, a process each.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from signal import SIGKILL
from threading import Event, Thread

import psutil

from hermes_jobs.features.triggers.events import TriggerFired
from hermes_jobs.kernel.events import TurnSubmitted
from tests.home import Home
from tests.serve.webhooks import free_port, send_all

DELIVERIES = 1_000
TIMES = 3
KILLS = (900, 1_800)  # answers after which it is killed
BY_COMMAND = 20


def main() -> None:
    """Print how many turns there are, how fast, and the memory of `serve`."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), {"HERMES_JOBS_MODEL": "rehearsal"})
        secret = home.run("triggers", "add", "push", "--task", "Look.", "--hook").out.strip()
        deliveries = [f"d{number}" for number in range(DELIVERIES) for _ in range(TIMES)]
        began = time.perf_counter()
        turns, megabytes = _sent(home, secret, deliveries)
        seconds = time.perf_counter() - began
        with home.open_log() as log:
            events = [recorded.event for recorded in log.tail(0, 100_000)]
        submitted = [event.turn for event in events if isinstance(event, TurnSubmitted)]
        fired = sum(isinstance(event, TriggerFired) for event in events)
        answered = [turn for of_one in turns.values() for turn in of_one]
        assert sorted(submitted) == sorted(answered), "a turn that nobody was told of, or that is missing"
        assert len(turns) == len(submitted) == fired == DELIVERIES, (len(turns), len(submitted), fired)
        print(f"{len(deliveries):,} requests, {len(KILLS)} kills: {len(submitted):,} turns")
        print(
            f"{len(deliveries) / seconds:,.0f} requests/s with the restarts; serve held {megabytes:,.0f} MB"
        )
        began = time.perf_counter()
        for number in range(BY_COMMAND):
            assert home.run("trigger", "push", "--key", f"k{number}").code == 0
        print(f"{BY_COMMAND / (time.perf_counter() - began):,.0f} firings/s by the command line")


def _sent(home: Home, secret: str, deliveries: list[str]) -> tuple[dict[str, set[str]], float]:
    """The turns of each delivery, and the most megabytes that `serve` held at a kill or at the end."""
    port, turns, kills = free_port(), {}, [Event() for _ in KILLS]
    megabytes: list[float] = []

    def on_answer(count: int) -> None:
        for at, kill in zip(KILLS, kills, strict=True):
            if count == at:
                kill.set()

    def send() -> None:
        turns.update(send_all(f"http://127.0.0.1:{port}/hooks/push", secret, deliveries, on_answer))

    sending = Thread(target=send)
    sending.start()
    for kill in [*kills, None]:
        with home.start("serve", "--port", str(port)) as running:
            running.wait_for("sign-in?link=")
            if kill is None:
                sending.join()
            else:
                kill.wait()
            megabytes.append(psutil.Process(running.process.pid).memory_info().rss / 1e6)
            running.signal(SIGKILL)
            running.end()
    return turns, max(megabytes)
