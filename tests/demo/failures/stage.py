"""What both sides are played with: a scripted model that remembers, a ledger, processes, and their memory."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from celery import Celery

from tests.faults.redis_server import RedisServer
from tests.model_script import Action, Answer, AskedCall, Hold, Seen
from tests.model_server import ModelServer
from tests.processes import ROOT
from tests.tools.support import wait_until

PATIENCE = 90.0  # seconds for what has to happen
AGENTS = 12  # that wait at once
STORY = " ".join(f"word{number:02}" for number in range(40))
LONG = "The report. " * 8_000  # about 100 kB


@dataclass(frozen=True)
class Outcome:
    """What one side did in a scene, and how much it lost, doubled or left."""

    text: str
    lost: int


class Model(ModelServer):
    """Plays the agent of every scene: the text of the question says which one."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.gate = threading.Event()  # what is held for the scene, until it is set
        self.start()

    def asked(self, text: str, rounds: int | None = None) -> int:
        """How often this was asked, at any round of its turn or at one."""
        return sum(
            text in seen.last_user_text and rounds in (None, seen.rounds) for seen in tuple(self.requests)
        )

    def waits_until_asked(self, text: str, times: int, rounds: int | None = None) -> None:
        """Wait for the request; fails after a while."""
        wait_until(lambda: self.asked(text, rounds) >= times, f"{text} asked {times} times", seconds=PATIENCE)

    def _answer(self, seen: Seen) -> Action:
        question = seen.last_user_text
        for word, answer in _PARTS.items():
            if word in question:
                return answer(self, seen)
        return Answer(text="Done.")


def _pays(model: Model, seen: Seen) -> Action:
    """Pays once; the answer after it is held for the first who asks."""
    if seen.rounds == 0:
        return Answer(tool_calls=(AskedCall("pay", {"amount": 7}),))
    return Hold() if model.asked(seen.last_user_text, 1) == 1 else Answer(text="Paid.")


def _takes_long(model: Model, seen: Seen) -> Action:
    """Its first call takes until somebody asks for the same, or the scene has gone on."""
    if seen.rounds == 0 and model.asked(seen.last_user_text, 0) == 1:
        _until(model, seen.last_user_text, 2)
    return Answer(text="Paid.") if seen.rounds else Answer(tool_calls=(AskedCall("pay", {"amount": 9}),))


def _researches(model: Model, seen: Seen) -> Action:
    if "Faro" in seen.last_user_text:
        _until(model, "Compare", 1)
    return Answer(text=f"Found: {seen.last_user_text}")


def _delegates(model: Model, seen: Seen) -> Action:
    """A turn whose three sub-agents are held until their worker was killed."""
    if seen.rounds == 0:
        tasks = [{"goal": f"Visit {city}."} for city in ("Porto", "Lisbon", "Faro")]
        return Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks}),))
    return Answer(text="All three compared.")


def _visits(model: Model, seen: Seen) -> Action:
    return Hold() if model.asked(seen.last_user_text) == 1 else Answer(text=seen.last_user_text)


def _takes_four_calls(_model: Model, seen: Seen) -> Action:
    if seen.rounds == 3:
        return Answer(text="In time.", delay=2.0)
    return Answer(tool_calls=(AskedCall("pay", {"amount": seen.rounds}),), delay=2.0)


def _runs(_model: Model, seen: Seen) -> Action:
    command = seen.last_user_text.partition("`")[2].partition("`")[0]
    tools = {tool["function"]["name"] for tool in seen.body["tools"]}
    name = "terminal" if "terminal" in tools else "run"
    return Answer(text="Ran.") if seen.rounds else Answer(tool_calls=(AskedCall(name, {"command": command}),))


def _held(model: Model, _seen: Seen) -> Action:
    model.gate.wait(PATIENCE)
    return Answer(text="Done.")


def _until(model: Model, text: str, times: int) -> None:
    with contextlib.suppress(AssertionError):
        wait_until(lambda: model.asked(text) >= times or model.gate.is_set(), "another one", seconds=PATIENCE)


_PARTS = {
    "Pay the long invoice": _takes_long,
    "Pay the invoice": _pays,
    "Research": _researches,
    "Ask three": _delegates,
    "Visit": _visits,
    "four calls": _takes_four_calls,
    "Run": _runs,
    "Wait": _held,
    "long report": lambda _model, _seen: Answer(text=LONG, piece=8_000),
    "story": lambda _model, _seen: Answer(text=STORY, piece=7, pace=0.1),
}


@dataclass
class Plain:
    """The plain agent's broker, workers and client."""

    folder: Path
    redis: RedisServer
    model: Model = field(default_factory=Model)
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def ledger(self) -> Path:
        """What was paid."""
        return self.folder / "ledger"

    def start(self, *arguments: str, ready: str = " ready.", **environ: str) -> subprocess.Popen[bytes]:
        """A process of Celery's command line, once it says that it is ready."""
        log = self.folder / f"{arguments[0]}-{len(list(self.folder.iterdir()))}.log"
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "REDIS_URL": self.redis.url,
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": "sk-of-nobody",
            "LEDGER": str(self.ledger),
            **environ,
        }
        command = [sys.executable, "-m", "celery", "-A", "tests.demo.failures.plain_agent", *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--loglevel", "INFO"],
                env=variables,
                cwd=self.folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._stack.callback(kill, process)
        wait_until(lambda: ready in log.read_text(), f"{ready!r} in {log}", seconds=PATIENCE)
        return process

    def worker(self, processes: int, **environ: str) -> subprocess.Popen[bytes]:
        """One with so many processes for tasks."""
        name = f"{processes}-{os.urandom(3).hex()}@%h"
        return self.start(
            "worker", "-c", str(processes), "-n", name, "--without-mingle", "--without-gossip", **environ
        )

    @contextlib.contextmanager
    def client(self) -> Iterator[Celery]:
        """The application as its other programs know it: by name."""
        app = Celery("client", broker=self.redis.url, backend=self.redis.url, set_as_current=False)
        app.conf.broker_transport_options = {"socket_connect_timeout": 3}
        try:
            yield app
        finally:
            gc.collect()  # results that are gone leave their channel, which needs the connection
            app.backend.result_consumer.stop()
            app.backend.client.connection_pool.disconnect()
            app.close()

    def close(self) -> None:
        """End everything."""
        self.model.gate.set()
        self._stack.close()
        self.model.stop()


def kill(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` for a process and its pool."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def lines(file: Path) -> int:
    """How many it has."""
    return len(file.read_text().splitlines()) if file.exists() else 0


def megabytes(processes: Sequence[int]) -> int:
    """Their memory; what they share is divided among them (PSS)."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
            total += int(re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE)[0])
    return total // 1024


def group(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes of its session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(folder.name)) == process.pid:
                found.append(int(folder.name))
    return found
