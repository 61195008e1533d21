"""A soak: `python -m tests.soak [MINUTES]`, 30 unless told.

An `up` and a second worker of one home, under a load of turns with tools, reviews, compressions and
schedules, with deliveries into the inbox. Every minute the worker of the `up` is killed, every five minutes
its broker. At the end nothing may be lost, doubled or left over, and the second worker, the beat and the
`up` itself, which lived through it all, may not have grown.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from signal import SIGINT, SIGKILL
from threading import Event

import psutil
from redis import Redis

from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.broker_address import find_broker
from hermes_jobs.settings import Paths
from tests.e2e.invariants import (
    assert_all_is_done_once,
    assert_at_most_once,
    assert_views_agree,
    counted,
    facts_of,
)
from tests.faults.crew import Crew, wait_until
from tests.home import Home, Running, endpoint
from tests.model_server import ModelServer
from tests.soak.life import NOTE, SCHEDULED, living, tag_of, text_of
from tests.soak.vitals import Record, of_home

MINUTES = 30.0
MINUTE = 60.0
BROKER_EVERY = 5  # minutes
LOOK_EVERY = 15.0  # seconds
SESSIONS = 24
UNDER_WAY = 16  # turns at once
RATE = 4.0  # turns a second at most
SCHEDULES = 3
CALM = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "12000",  # tokens: sessions are compressed again and again
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "6",
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "5",
}


class Soak:
    """One home and everything that happens to it."""

    def __init__(self, folder: Path, server: ModelServer, minutes: float) -> None:
        self.effects = folder / "work" / "effects"
        self.home = Home(folder, {**endpoint(server.base_url), **CALM})
        (self.home.work / NOTE).write_text("Water the roses.")
        self._server = server
        server.follow(living(self.effects))
        self._seconds = minutes * MINUTE
        self._random = Random()
        self._numbers = count()
        self._sessions: list[str] = []
        self._killed: Counter[str] = Counter()

    def run(self) -> list[str]:
        """Live through it; what was wrong at the end, a line each."""
        with self.home.start("up", "--no-flower") as up, Crew([self.home]) as crew:
            up.wait_for("hermes-jobs is up")
            with self.home.start("worker", "-c", "8") as survivor:
                wait_until(lambda: len(crew.names()) > 1, "the second worker")
                for number in range(SCHEDULES):
                    self._schedule(number)
                record = Record(self._lasting(up, survivor))
                self._live(crew, record, survivor.process.pid)
                self._calm_down(crew)
                record.look()
                found = self._judge(crew) + record.grown()
                print(record.table())
            up.signal(SIGINT)
            assert up.end().code == 0
        return found

    def _lasting(self, up: Running, survivor: Running) -> dict[str, psutil.Process]:
        (beat,) = of_home(self.home.path, "beat")[-1:]
        return {
            "worker": psutil.Process(survivor.process.pid),
            "beat": beat,
            "up": psutil.Process(up.process.pid),
        }

    def _live(self, crew: Crew, record: Record, survivor: int) -> None:
        begun = time.monotonic()
        pause, looked, minute = Event(), float("-inf"), 1
        while (now := time.monotonic() - begun) < self._seconds:
            self._load(crew, int(now * RATE) - len(crew.texts))
            if now - looked >= LOOK_EVERY:
                looked = now
                record.look()
                self._server.requests.clear()
                self._server.reported.clear()
            if now >= minute * MINUTE:
                self._harm(minute, survivor)
                minute += 1
            pause.wait(0.05)

    def _load(self, crew: Crew, wanted: int) -> None:
        under_way = sum(row.step.kind.startswith(("turn.", "tool.")) for row in crew.log.steps())
        for _ in range(min(UNDER_WAY - under_way, wanted)):
            number = next(self._numbers)
            session = self._random.choice(self._sessions) if number >= SESSIONS else None
            crew.submit(text_of(number), session)
            if session is None:
                self._sessions = [
                    each.stream.removeprefix("session-") for each in crew.log.streams("session-")
                ]

    def _harm(self, minute: int, survivor: int) -> None:
        for victim in (each for each in of_home(self.home.path, "worker") if each.pid != survivor):
            victim.kill()
            self._killed["worker"] += 1
        if minute % BROKER_EVERY == 0 and (url := find_broker(Paths(self.home.path))) is not None:
            with Redis.from_url(url) as redis:
                os.kill(int(redis.info("server")["process_id"]), SIGKILL)
            self._killed["broker"] += 1

    def _schedule(self, number: int) -> None:
        words = ("--every", "1m", "--task", SCHEDULED, "--name", f"garden {number}", "--yes")
        target = f"file:{self.home.path.parent / 'answers'}"
        added = self.home.run("schedule", "add", *words, "--deliver", "cli", "--deliver", target)
        assert added.code == 0, added

    def _calm_down(self, crew: Crew) -> None:
        """End the schedules, and let everything that was begun be done."""
        for schedule in self.home.run("schedule", "list", "--json").json:
            removed = self.home.run("schedule", "remove", schedule["schedule"])
            assert removed.code == 0, removed
        crew.finish()

    def _judge(self, crew: Crew) -> list[str]:
        facts = facts_of(crew.log)
        with self.home.open_log() as log:
            assert_all_is_done_once(log, crew.accepted)
            assert_views_agree(log, self.home.path / "views")
        tags = [tag_of(text) for text in crew.texts if text.startswith("tool ")]
        written = counted(self.effects)
        assert_at_most_once(written, tags)
        print(self._told(facts, written, tags))
        return [*_runs_amiss(facts), *_reviews_amiss(facts)]

    def _told(self, facts: Sequence[e.Event], written: Counter[str], tags: Sequence[str]) -> str:
        kinds = Counter(type(fact).__name__ for fact in facts)
        shown = (
            "TurnSubmitted",
            "ToolFinished",
            "ReviewCompleted",
            "ContextCompressed",
            "ScheduleFired",
            "DeliverySent",
            "StepAbandoned",
        )
        figures = ", ".join(f"{kinds[name]:,} {name}" for name in shown)
        unsure = len(tags) - len(written)
        return (
            f"{len(facts):,} events in {self._seconds / MINUTE:g} minutes: {figures}\n"
            f"killed: {dict(self._killed)}; {len(written):,} writes happened, {unsure} were interrupted"
        )


def _runs_amiss(facts: Sequence[e.Event]) -> list[str]:
    """No due time fired twice, and every run that was fired ended."""
    fired = [fact for fact in facts if isinstance(fact, schedules_events.ScheduleFired)]
    ended = {fact.turn for fact in facts if isinstance(fact, schedules_events.ScheduleRunEnded)}
    twice = [key for key, times in Counter((fact.schedule, fact.due) for fact in fired).items() if times > 1]
    return [f"fired twice: {key}" for key in twice] + [
        f"never ended: {fact.turn}" for fact in fired if fact.turn not in ended
    ]


def _reviews_amiss(facts: Sequence[e.Event]) -> list[str]:
    """Every review that was asked for ended once."""
    asked = Counter(fact.review for fact in facts if isinstance(fact, e.ReviewRequested))
    ended = Counter(fact.review for fact in facts if isinstance(fact, e.ReviewCompleted | e.ReviewFailed))
    return [
        f"review {name}: ended {ended[name]} times" for name in asked | ended if ended[name] != asked[name]
    ]


def main(minutes: float = MINUTES) -> None:
    """Run one soak and say how it went; exit code 1 where something was amiss."""
    with tempfile.TemporaryDirectory() as folder, closing(ModelServer().start()) as server:
        found = Soak(Path(folder), server, minutes).run()
    print("\n".join(found) or "Nothing was lost, doubled or left over, and nothing grew.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
