"""Many turns at once on workers of their own: `python -m tests.benchmarks many_turns`.

The ideal of two model calls of a second is two seconds; text turns meet a model that answers at once. What a
worker holds is its proportional set size after 1,000 text turns and after 5,000 more.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest

from hermes_jobs.runtime.broker_address import find_server
from tests.benchmarks.lines import Line
from tests.benchmarks.turns import THREADS, many, many_chains, model_server
from tests.faults.crew import Crew
from tests.faults.redis_server import RedisServer
from tests.home import Home, endpoint
from tests.services import postgres_schema
from tests.soak.vitals import MB

TURNS = 200
ROUNDS = 5
IDEAL = 2.0  # seconds
GROWTH = (1_000, 5_000)  # text turns before the first look and before the second


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name, model_server(Path(name)) as base_url:
        for workers in (1, 2):
            with crew_on(Path(name) / f"sqlite-{workers}", find_server(), base_url, workers) as crew:
                show(f"SQLite, embedded broker, {workers} x {THREADS} threads", crew)
                if workers == 1:
                    show_growth(crew)
        show_postgres(Path(name), base_url)


def lines(folder: Path, base_url: str) -> Iterator[Line]:
    """Many turns at once on one worker; the time that each of them takes of it."""
    with crew_on(folder / "many", find_server(), base_url, 1) as crew:
        engine = crew.application.engine("bench")
        many(engine, TURNS, "hello")  # warms up
        text = median(many(engine, TURNS, "hello") for _ in range(3)) * 1000 / TURNS
        slow = median(many(engine, TURNS, "two slow calls") for _ in range(3)) * 1000
        broker = crew.application.settings.broker_url
        assert broker is not None
        chain = median(many_chains(broker, TURNS, 4)[1:]) * 1000 / TURNS
    yield Line("200 text turns at once, each", text, "three empty tasks in a chain, 200 at once", chain)
    yield Line("200 turns of two 1 s calls and a tool", slow, "the ideal", IDEAL * 1000)


def show_postgres(folder: Path, base_url: str) -> None:
    """The same over PostgreSQL and Redis, where they are."""
    redis = shutil.which("redis-server")
    if redis is None:
        print("PostgreSQL and Redis: not measured, there is no redis-server")
        return
    try:
        with postgres_schema() as url, crew_on(folder / "postgres", redis, base_url, 1, log_url=url) as crew:
            show(f"PostgreSQL, Redis, 1 x {THREADS} threads", crew)
    except pytest.skip.Exception:
        print("PostgreSQL and Redis: not measured, PostgreSQL does not answer")


def show(where: str, crew: Crew) -> None:
    """Medians of slow turns and of text turns."""
    engine = crew.application.engine("bench")
    many(engine, TURNS, "hello")  # warms up
    slow = median(many(engine, TURNS, "two slow calls") for _ in range(ROUNDS))
    text = median(many(engine, TURNS, "hello") for _ in range(ROUNDS))
    print(
        f"{where}\n  {TURNS} turns of two 1 s calls and a tool {slow:>9.2f} s, {slow / IDEAL:.2f} x the ideal"
    )
    print(f"  {TURNS} text turns at once {TURNS / text:>22.0f} turns/s")


def show_growth(crew: Crew) -> None:
    """What the worker holds, and what thousands of turns leave with it."""
    engine, (worker,) = crew.application.engine("bench"), crew.processes()
    held = []
    for turns in GROWTH:
        for _ in range(turns // TURNS):
            many(engine, TURNS, "hello")
        held.append(worker.memory_full_info().pss // MB)
    print(f"  the worker after {GROWTH[0]:,} text turns {held[0]} MB, after {GROWTH[1]:,} more {held[1]} MB")


@contextmanager
def crew_on(folder: Path, broker: str, base_url: str, workers: int, **environ: str) -> Iterator[Crew]:
    """So many workers of a fresh home, on a broker of their own."""
    folder.mkdir()
    with RedisServer(broker, folder) as server:
        home = Home(folder, _environ(base_url, server.url, environ))
        with Crew([home]) as crew:
            crew.threads = THREADS
            for number in range(workers):
                crew.start_one(number)
            yield crew


def _environ(base_url: str, broker: str, more: Mapping[str, str]) -> dict[str, str]:
    settings = {f"HERMES_JOBS_{name.upper()}": value for name, value in more.items()}
    return {**endpoint(base_url), "HERMES_JOBS_BROKER_URL": broker, **settings}


if __name__ == "__main__":
    main()
