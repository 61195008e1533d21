"""What a turn costs beside the model: `python -m tests.benchmarks turns`.

Baselines of the same run: the bare model call (our client against the same scripted server, in a process of
its own) for the turn within one process, and a chain of three empty Celery tasks on the same
broker and kind of worker for the turn through a worker.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from redis import Redis

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.events import Opening, TurnCompleted, TurnSubmitted
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.benchmarks.empty_tasks import DONE, empty_app, send_chain
from tests.benchmarks.lines import Line, show
from workers.broker import EmbeddedBroker

TURNS = 40
THREADS = 256
TRUE = {"name": "terminal", "arguments": {"command": "true"}}
SCRIPT = {
    "rules": [
        {
            "contains": "five at once",
            "actions": [
                {"do": "answer", "tool_calls": [TRUE] * 5},
                {"do": "answer", "text": "Done."},
            ],
        },
        {
            "contains": "five in a row",
            "actions": [
                *[{"do": "answer", "tool_calls": [{"name": "terminal", "arguments": {"command": "true"}}]}]
                * 5,
                {"do": "answer", "text": "Done."},
            ],
        },
        {
            "contains": "two slow calls",
            "actions": [
                {
                    "do": "answer",
                    "delay": 1.0,
                    "tool_calls": [{"name": "read_file", "arguments": {"path": "etc/hostname"}}],
                },
                {"do": "answer", "text": "Done.", "delay": 1.0},
            ],
        },
    ],
    "default": {"do": "answer", "text": "Hello."},
}


INLINE = "text turn, in one process"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder, model_server(Path(folder)) as base_url:
        show(lines(Path(folder), base_url))
        _print_fsyncs(Path(folder), base_url)


def lines(folder: Path, base_url: str) -> Iterator[Line]:
    """Medians of turns, in one process and through a worker."""
    application = installation_of(folder / "home", base_url)
    bare = _median(bare_calls(application))
    with InlineWorker(application) as worker:
        inline = _median(turn_time(worker.engine, worker.work, "hello", worker.session) for _ in range(TURNS))
        yield Line(INLINE, inline, "the bare model call", bare)
    application.close()
    yield from _through_a_worker(folder, base_url, bare)


def _through_a_worker(folder: Path, base_url: str, bare: float) -> Iterator[Line]:
    application = installation_of(folder / "celery-home", base_url)
    with working(folder / "celery-home", base_url) as broker:
        engine = application.engine("bench")
        hops = _median(_empty_chains(broker))
        turn_time(engine, waiter(engine), "hello")
        text = _median(turn_time(engine, waiter(engine), "hello") for _ in range(TURNS))
        yield Line("text turn, through a worker", text, "the bare model call", bare)
        yield Line("  what it costs beside the model", text - bare, "three empty tasks in a chain", hops)
        tools = _median(turn_time(engine, waiter(engine), "five at once") for _ in range(10))
        yield Line("5 tools in one message, through a worker", tools, "two bare model calls", 2 * bare)
        tools = _median(turn_time(engine, waiter(engine), "five in a row") for _ in range(10))
        yield Line("5 tools one after the other", tools, "six bare model calls", 6 * bare)
    application.close()


def _median(times: Iterator[float]) -> float:
    return median(times) * 1000


def bare_calls(application: Application) -> Iterator[float]:
    """Seconds of each of some model calls with nothing around them."""
    request = ModelRequest(model="m", system_prompt="Help.", messages=(UserMessage("hello"),))
    for at in range(TURNS + 1):
        begun = time.perf_counter()
        application.model.reply(request, CancelToken(), lambda text: None)
        if at:
            yield time.perf_counter() - begun


def _empty_chains(broker: str) -> Iterator[float]:
    return iter(many_chains(broker, 1, TURNS + 1)[1:])


def many_chains(broker: str, chains: int, rounds: int) -> list[float]:
    """Seconds of each round of so many chains of empty tasks at once; the first one waits for the worker."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.benchmarks.empty_tasks", broker]
    redis, app = Redis.from_url(broker, socket_timeout=None), empty_app(broker)
    times = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        try:
            for _ in range(rounds):
                begun = time.perf_counter()
                for at in range(chains):
                    send_chain(app, at)
                for _ in range(chains):
                    assert redis.blpop([DONE], timeout=30), "the empty tasks did not run"
                times.append(time.perf_counter() - begun)
        finally:
            worker.terminate()
    return times


def _print_fsyncs(folder: Path, base_url: str) -> None:
    """What the turn of one process writes durably, counted by strace where that is installed."""
    if shutil.which("strace") is None:
        print("fsyncs of a turn: not counted, strace is not installed")
        return
    counts = {}
    for text in ("hello", "five at once"):
        trace = folder / "trace"
        environment = {**_environment(folder / "fsync-home", base_url), "PYTHONPATH": str(Path.cwd())}
        turn = [sys.executable, "-m", "hermes_jobs", "send", "-q", text]
        wal = folder / "fsync-home" / "events.db-wal"
        command = ["strace", "-f", "-e", "trace=fsync,fdatasync", "-P", str(wal), "-o", str(trace), *turn]
        for _ in range(2):  # the first makes the home
            subprocess.run(command, env=environment, check=True, capture_output=True)
        counts[text] = trace.read_text().count("sync(")
    print(f"fsyncs of the log: {counts['hello']} in a text turn of 3 steps, ", end="")
    print(f"{counts['five at once']} in one of 9 steps with 5 writing tools (2 of them at the process's end)")


def _submit(engine: Engine, text: str) -> tuple[str, str]:
    session, turn = engine.ids.name("s"), engine.ids.name("t")
    opening = Opening(workdir="/")
    engine.submit(TurnSubmitted(turn=turn, session=session, text=text, source="bench", opening=opening))
    return stream_of(session), turn


def turn_time(
    engine: Engine,
    wait: Callable[[Callable[[], bool]], object],
    text: str,
    load: Callable[[str], Session] | None = None,
) -> float:
    """Seconds from a submitted text to its turn's recorded end; `load` is how that is looked up."""
    load = load or engine.sessions.load
    begun = time.perf_counter()
    stream, turn = _submit(engine, text)
    wait(lambda: turn in load(stream).ended)
    return time.perf_counter() - begun


def waiter(engine: Engine) -> Callable[[Callable[[], bool]], object]:
    """Waits, looking at the log, while others work."""

    def wait(done: Callable[[], bool]) -> None:
        while not done():
            engine.log.wait(engine.log.last_position(), 0.005)

    return wait


def many(engine: Engine, turns: int, text: str) -> float:
    """Seconds from the first of so many texts, submitted as fast as it goes, to the last turn's end."""
    begun = time.perf_counter()
    position = engine.log.last_position()
    left = {_submit(engine, text)[1] for _ in range(turns)}
    while left:
        engine.log.wait(position, 1.0)
        for recorded in engine.log.tail(position):
            position = recorded.position
            if isinstance(recorded.event, TurnCompleted):
                left.discard(recorded.event.turn)
    return time.perf_counter() - begun


def _environment(home: Path, base_url: str) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "HERMES_JOBS_HOME": str(home),
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
    }


def installation_of(home: Path, base_url: str) -> Application:
    environment = _environment(home, base_url)
    return Application(load(environment), environment)


@contextmanager
def model_server(folder: Path, follows: Mapping[str, Any] = SCRIPT) -> Iterator[str]:
    """A server of its own that follows a script; its address."""
    script = folder / "script.json"
    script.write_text(json.dumps(follows), "utf-8")
    command = [sys.executable, "-m", "tests.model_server", "--script", str(script), "--port", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        assert server.stdin is not None
        server.stdin.close()


@contextmanager
def working(home: Path, base_url: str) -> Iterator[str]:
    """A worker process on an embedded broker; its URL, once it consumes."""
    application = installation_of(home, base_url)
    server = EmbeddedBroker(application.settings.paths)
    broker = server.start()
    environment = {**_environment(home, base_url), "HERMES_JOBS_BROKER_URL": broker}
    log = (home.parent / "worker.log").open("w")
    command = [sys.executable, "-m", "hermes_jobs", "worker", "-c", str(THREADS)]
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        while not any(worker.queues and worker.beats for worker in application.log.workers()):
            assert process.poll() is None, (home.parent / "worker.log").read_text()
            time.sleep(0.05)
        yield broker
    finally:
        application.close()
        process.terminate()
        process.wait()
        log.close()
        server.stop()


if __name__ == "__main__":
    main()
