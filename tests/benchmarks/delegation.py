"""What a sub-agent costs beside its model: `python -m tests.benchmarks delegation`.

From the append that begins a child to its first model call, beside a chain of three empty Celery tasks on the
same broker; then many children at once on two workers, with what the workers hold (proportional set size).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.runtime.broker_address import find_server
from tests.benchmarks.many_turns import crew_on
from tests.benchmarks.turns import (
    TURNS,
    _empty_chains,
    installation_of,
    many,
    model_server,
    turn_time,
    waiter,
    working,
)
from tests.faults.crew import Crew
from tests.soak.vitals import MB

PER_CALL = 10  # the most that one call may have
AT_ONCE = {"delegation__per_root": "100", "delegation__per_home": "100"}
GROWTH = (500, 2_000, 4_000)  # children of one worker at which it is looked at


def delegating(text: str, children: int) -> dict[str, Any]:
    """A rule by which such a text is handed to so many children."""
    goals = [{"goal": f"Part {number}"} for number in range(children)]
    calls = [
        {"name": "delegate", "arguments": {"tasks": goals[at : at + PER_CALL]}}
        for at in range(0, children, PER_CALL)
    ]
    return {
        "contains": text,
        "actions": [{"do": "answer", "tool_calls": calls}, {"do": "answer", "text": "Done."}],
    }


SCRIPT = {
    "rules": [delegating("one child", 1), delegating("ten children", 10), delegating("a hundred", 100)],
    "default": {"do": "answer", "text": "Hello."},
}


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name, model_server(Path(name), SCRIPT) as base_url:
        show_overhead(Path(name), base_url)
        show_many(Path(name), base_url)
        show_growth(Path(name), base_url)


def show_overhead(folder: Path, base_url: str) -> None:
    """From a parent's append to its child's first model call."""
    application = installation_of(folder / "home", base_url)
    with working(folder / "home", base_url) as broker:
        engine = application.engine("bench")
        chain = median(_empty_chains(broker)) * 1000
        before = engine.log.last_position()
        for _ in range(TURNS + 1):
            turn_time(engine, waiter(engine), "one child")
        begun = list(first_calls(engine.log, before))[1:]
    application.close()
    print(f"{'three empty Celery tasks in a chain':<56}{chain:>9.1f} ms")
    took = median(begun) * 1000
    print(f"{'from the begin of a child to its first model call':<56}{took:>9.1f} ms{took / chain:>8.2f}x")


def first_calls(log: EventLog, after: int) -> Iterator[float]:
    """Seconds from the begin of each child to its first model call."""
    began: dict[str, datetime] = {}
    while batch := log.tail(after):
        after = batch[-1].position
        for recorded in batch:
            at = datetime.fromisoformat(recorded.recorded_at)
            match recorded.event:
                case e.ChildrenStarted(children=children):
                    began.update({ref.turn: at for ref in children})
                case e.ModelCallStarted(turn=turn) if turn in began:
                    yield (at - began.pop(turn)).total_seconds()
                case _:
                    pass


def show_many(folder: Path, base_url: str) -> None:
    """A hundred children of one turn, and ten turns with ten each, on two workers."""
    with crew_on(folder / "many", find_server(), base_url, 2, **AT_ONCE) as crew:
        engine = crew.application.engine("bench")
        many(engine, 20, "hello")
        for text, turns in (("a hundred", 1), ("ten children", 10)):
            many(engine, turns, text)
            before = held(crew)
            took = [many(engine, turns, text) for _ in range(5)]
            after = held(crew)
            print(
                f"{f'{turns} x {100 // turns} children on two workers':<56}{median(took) * 1000:>9.0f} ms",
                end="",
            )
            print(f"   workers hold {before} MB, after 500 more children {after} MB")


def show_growth(folder: Path, base_url: str) -> None:
    """What one worker holds after so many children, a hundred at once: it stops growing."""
    with crew_on(folder / "growth", find_server(), base_url, 1, **AT_ONCE) as crew:
        engine, done, found = crew.application.engine("bench"), 0, []
        for children in GROWTH:
            for _ in range((children - done) // 100):
                many(engine, 1, "a hundred")
            done = children
            found.append(f"{children:,}: {held(crew)} MB")
    print(f"{'one worker after so many children':<56}   {', '.join(found)}")


def held(crew: Crew) -> int:
    """What the workers hold, in MB."""
    return sum(int(worker.memory_full_info().pss) for worker in crew.processes()) // MB


if __name__ == "__main__":
    main()
