"""The ten failures with hermes-jobs: one installation for all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from hermes_jobs.client import Home, Turn
from tests.demo.failures.stage import AGENTS, LONG, PATIENCE, STORY, Model, Outcome, megabytes
from tests.faults.redis_server import RedisServer
from tests.home import Home as ProcessHome
from tests.home import endpoint
from tests.tools.support import wait_until
from tests.workers.test_up import left_of, processes_running, up

Scene = Callable[["Own"], Outcome]
LONGER_THAN_A_LEASE = 10.0  # seconds; a worker that says nothing for 8 is taken for dead


class Own:
    """An installation with its workers, `up` as a person starts it, and a client."""

    def __init__(self, folder: Path, environ: Mapping[str, str], broker: RedisServer | None) -> None:
        self.model = Model()
        self.ledger = folder / "ledger"
        self.broker = broker
        self.outside = ProcessHome(
            folder,
            {
                **endpoint(self.model.base_url),
                **({"HERMES_JOBS_BROKER_URL": broker.url} if broker is not None else {}),
                "HERMES_JOBS_TOOLS__MODULES": "[tests.demo.failures.payments]",
                "LEDGER": str(self.ledger),
                **environ,
            },
        )
        self._stack = ExitStack()
        self._stack.callback(self._end)
        self._stack.enter_context(up(self.outside, "--no-flower"))
        self.outside.run("turns", "list")  # what runs the command line has started then
        self.home = self._stack.enter_context(Home(self.outside.path, environ=self.outside.environ))

    def ask(self, question: str) -> str:
        """Submit a turn; its id."""
        return self.home.send(question, wait=False, workdir=self.outside.work, unattended=True).turn

    def answer(self, turn: str) -> Turn:
        """The ended turn."""
        ended = self.home.turns.wait(turn, timeout=PATIENCE)
        assert ended.status == "completed", ended
        return ended

    def kill_workers(self) -> None:
        """`kill -9`; `up` starts others."""
        for process in processes_running(self.outside, "hermes_jobs worker"):
            os.kill(process, signal.SIGKILL)

    def restart_broker(self) -> None:
        """`kill -9`; it comes back empty. The embedded one is started again by `up`."""
        if self.broker is not None:
            self.broker.kill()
            self.broker.start()
            return
        for process in left_of(self.outside):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{process}/cwd").readlink() == self.outside.path / "run":
                    os.kill(process, signal.SIGKILL)

    def paid(self, amount: int) -> int:
        """How often that was paid."""
        return self.ledger.read_text().count(f"paid {amount}\n") if self.ledger.exists() else 0

    def close(self) -> None:
        """End everything."""
        self.model.gate.set()
        self._stack.close()
        self.model.stop()

    def _end(self) -> None:
        for process in left_of(self.outside):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def long_task(own: Own) -> Outcome:
    turn = own.ask("Pay the long invoice.")
    own.model.waits_until_asked("long invoice", 1)
    threading.Event().wait(LONGER_THAN_A_LEASE)
    own.model.gate.set()
    own.answer(turn)
    own.model.gate.clear()
    calls, paid = own.model.asked("long invoice", 0), own.paid(9)
    return Outcome(f"{calls} call of {LONGER_THAN_A_LEASE:.0f} s; paid {paid} time", calls - 1 + paid - 1)


def late_acknowledgement(own: Own) -> Outcome:
    turn = own.ask("Pay the invoice.")
    own.model.waits_until_asked("the invoice", 1, rounds=1)
    own.kill_workers()
    assert own.answer(turn).result == "Paid."
    return Outcome(f"went on after its last step; paid {own.paid(7)} time", own.paid(7) - 1)


def lost_chord(own: Own) -> Outcome:
    turn = own.ask("Ask three.")
    own.model.waits_until_asked("Visit", 3)
    own.kill_workers()
    assert own.answer(turn).result == "All three compared."
    asked = [seen for seen in own.model.requests if "Ask three" in seen.last_user_text]
    results = str([message for message in asked[-1].messages if message["role"] == "tool"])
    missing = [city for city in ("Porto", "Lisbon", "Faro") if f"Visit {city}" not in results]
    return Outcome("all three killed with their worker; compared after it", len(missing))


def memory(own: Own) -> Outcome:
    turns = [own.ask(f"Wait {number}.") for number in range(AGENTS)]
    own.model.waits_until_asked("Wait", AGENTS)
    workers = processes_running(own.outside, "hermes_jobs worker")
    used = megabytes(workers)
    own.model.gate.set()
    for turn in turns:
        own.answer(turn)
    own.model.gate.clear()
    return Outcome(f"{len(workers)} process, {used} MB", 0)


def full_backend(own: Own) -> Outcome:
    if own.broker is not None:
        own.broker.limit(1_000_000)
    turns = [own.ask(f"Write long report {number}.") for number in range(AGENTS)]
    answered = sum(own.answer(turn).result == LONG for turn in turns)
    if own.broker is not None:
        own.broker.limit(None)
    where = "the broker full up to 1 MB" if own.broker is not None else "the broker holds no results"
    return Outcome(f"{answered} of {AGENTS} answers; {where}", AGENTS - answered)


def time_limit(own: Own) -> Outcome:
    before = own.paid(0)
    ended = own.answer(own.ask("Take four calls."))
    return Outcome(
        f"answered after {ended.duration_ms / 1000:.0f} s: limits are of a step", own.paid(0) - before - 1
    )


def restarted_broker(own: Own) -> Outcome:
    held = own.ask("Wait.")
    own.model.waits_until_asked("Wait.", 1)
    turns = [own.ask(f"Question {number}.") for number in range(3)]
    own.restart_broker()
    turns.append(own.ask("Are you there?"))
    own.model.gate.set()
    for turn in (held, *turns):
        own.answer(turn)
    own.model.gate.clear()
    return Outcome("3 of 3, and the worker takes new ones", 0)


def two_schedulers(own: Own) -> Outcome:
    with second_scheduler(own):
        own.home.schedules.add("in 3 seconds", "Write the digest.", name="digest")
        own.model.waits_until_asked("digest", 1)
        threading.Event().wait(3)
    asked = own.model.asked("digest")
    return Outcome(f"1 due time, {asked} digest", asked - 1)


@contextlib.contextmanager
def second_scheduler(own: Own) -> Iterator[None]:
    with own.outside.start("beat"):
        yield


def watched_answer(own: Own) -> Outcome:
    turn = own.ask("Tell a story.")
    with own.outside.start("turns", "follow", turn) as first:
        wait_until(lambda: "word05" in first.out + first.err, "some words", seconds=PATIENCE)
    time.sleep(1)  # the connection is away
    heard = own.outside.run("turns", "follow", turn)
    assert own.answer(turn).result == STORY
    missing = sum(word not in heard.out for word in STORY.split())
    return Outcome(f"{40 - missing} of 40 words after the second connection", missing)


def cancelled_call(own: Own) -> Outcome:
    work = own.outside.work
    turn = own.ask("Run `(touch begun; sleep 3; touch finished) | tail`")
    wait_until((work / "begun").exists, "the command", seconds=PATIENCE)
    own.home.turns.cancel(turn)
    with contextlib.suppress(AssertionError):
        wait_until((work / "finished").exists, "its end", seconds=5)
    went_on = (work / "finished").exists()
    return Outcome("the command went on" if went_on else "all its processes ended", int(went_on))


SCENES: Mapping[int, Scene] = {
    1: long_task,
    2: late_acknowledgement,
    3: lost_chord,
    4: memory,
    5: full_backend,
    6: time_limit,
    7: restarted_broker,
    8: two_schedulers,
    9: watched_answer,
    10: cancelled_call,
}
