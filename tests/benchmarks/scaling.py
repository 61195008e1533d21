"""What grows with the load, simulated: `python -m tests.benchmarks.scaling`.

Turns arrive by chance (Poisson) at a fleet of worker processes over one log. A step takes CPU time of one
process, which has one interpreter, and a commit of the log, which takes all that wait for it at once (group
commit). The model's answer takes nobody's time. The unit costs are measured ones: see `Costs`.
"""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from statistics import median, quantiles
from typing import Any

import msgspec
import simpy

Turns = Generator[simpy.Event, None, None]
HOUR, DAY = 3600.0, 86400.0
GB = 1e9
CALLS, TOOL = (1, 3), 2  # among a turn's steps


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn of two model calls and a tool takes, on the machine of `docs/performance.md`.

    Seconds, or numbers a turn. `steps`: prefetch, call, tool, call, usage.
    """

    cpu: float = 0.012  # of a worker process: "200 turns of two calls" of the benchmark `turns`
    steps: int = 5
    fsync: float = 0.002  # a common SSD; the benchmark `appends` shows this machine's
    model: float = 8.0  # mean of both answers together
    events: int = 11
    view_cpu: float = 0.0002  # an event taken into the views of one host, a few at a time
    broker: float = 30 / 60_000  # commands a turn, at the rate of one Redis
    log_bytes: float = 7_000
    view_bytes: float = 4_500


class Fleet(msgspec.Struct, frozen=True):
    """A load of turns an hour, and who carries it."""

    turns: int
    processes: int
    hosts: int
    seconds: float  # that are simulated


class Outcome(msgspec.Struct, frozen=True):
    """What came of it: what the turns took beside the model, in seconds; the share of time in use."""

    overheads: list[float]
    cpu: float
    log: float


FLEETS = (
    Fleet(100, 1, 1, 20 * HOUR),
    Fleet(10_000, 1, 1, HOUR / 2),
    Fleet(100_000, 2, 1, HOUR / 12),
    Fleet(1_000_000, 6, 3, 60.0),
    Fleet(1_000_000, 10, 5, 60.0),
)


class Log:
    """Commits that arrive while the disk is busy share the next one."""

    def __init__(self, world: simpy.Environment, fsync: float) -> None:
        self.busy = 0.0
        self._world = world
        self._fsync = fsync
        self._waiting: list[simpy.Event] = []
        self._is_writing = False

    def commit(self) -> simpy.Event:
        """An event that comes about when it is on disk."""
        done = self._world.event()
        self._waiting.append(done)
        if not self._is_writing:
            self._is_writing = True
            self._world.process(self._write())
        return done

    def _write(self) -> Turns:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            yield self._world.timeout(self._fsync)
            self.busy += self._fsync
            for done in batch:
                done.succeed()
        self._is_writing = False


def simulate(fleet: Fleet, costs: Costs, seed: int = 1) -> Outcome:
    """The fleet under its load."""
    random = Random(seed)
    world: Any = simpy.Environment()
    processes = simpy.Resource(world, capacity=fleet.processes)
    log = Log(world, costs.fsync)
    overheads: list[float] = []
    used = 0.0

    def turn() -> Turns:
        nonlocal used
        begun, thinking = world.now, 0.0
        yield log.commit()  # accepted
        for step in range(costs.steps):
            with processes.request() as process:
                yield process
                spent = random.expovariate(costs.steps / costs.cpu)
                used += spent
                yield world.timeout(spent)
            if step in CALLS:  # the model's answers
                answer = random.expovariate(len(CALLS) / costs.model)
                thinking += answer
                yield world.timeout(answer)
            if step == TOOL:
                yield log.commit()  # begun: it writes
            yield log.commit()
        overheads.append(world.now - begun - thinking)

    def arrivals() -> Turns:
        while True:
            yield world.timeout(random.expovariate(fleet.turns / HOUR))
            world.process(turn())

    world.process(arrivals())
    world.run(until=fleet.seconds)
    return Outcome(overheads, used / fleet.seconds / fleet.processes, log.busy / fleet.seconds)


def main() -> None:
    """Print the table."""
    costs = Costs()
    print(
        f"{'turns/h':>9} {'hosts':>5} {'workers':>7}   {'beside the model':>18}"
        f" {'worker':>7} {'log':>5} {'views, each host':>17} {'broker':>7}  {'log · views a day':>18}"
    )
    for fleet in FLEETS:
        came = simulate(fleet, costs)
        rate = fleet.turns / HOUR
        p95 = quantiles(came.overheads, n=20)[-1] * 1000
        daily = (rate * DAY * each / GB for each in (costs.log_bytes, costs.view_bytes))
        print(
            f"{fleet.turns:>9,} {fleet.hosts:>5} {fleet.processes:>7}"
            f"   {median(came.overheads) * 1000:>6.0f} · {p95:>6.0f} ms {came.cpu:>7.0%} {came.log:>5.0%}"
            f" {rate * costs.events * costs.view_cpu:>17.1%} {rate * costs.broker:>7.1%}"
            f"  {' · '.join(f'{each:,.1f}' for each in daily):>15} GB"
        )


if __name__ == "__main__":
    main()
