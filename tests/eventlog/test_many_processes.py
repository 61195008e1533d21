"""Several processes with several threads each write to one log."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns.steps import Step
from tests.eventlog.changes import due, step, titles
from tests.eventlog.writers import claim_steps, decide_together, run_in_processes, use_keys, write_own_streams

FEW = pytest.param(3, 4, 5, id="few")
MANY_KEYS = pytest.param(8, 4, 40, id="many", marks=pytest.mark.slow)
MANY = pytest.param(8, 16, 20, id="many", marks=pytest.mark.slow)


@pytest.mark.parametrize(("processes", "threads", "count"), [FEW, MANY])
def test_nothing_is_lost_doubled_or_out_of_order(
    log: SqlEventLog, log_url: str, processes: int, threads: int, count: int
) -> None:
    num_events = sum(run_in_processes(write_own_streams, log_url, processes, threads, count))
    everything = log.tail(limit=num_events + 1)
    assert [each.position for each in everything] == list(range(1, num_events + 1))
    for number in range(processes):
        for thread in range(threads):
            own = titles(log.read(f"session-own-{number}-{thread}"))
            assert own == [f"{number}.{thread}.{version}" for version in range(count)]
    assert len(set(titles(log.read("session-shared")))) == num_events // 2
    assert verify(log).findings == ()


@pytest.mark.parametrize(("processes", "threads", "count"), [FEW, MANY_KEYS])
def test_each_key_is_used_by_one_process(
    log: SqlEventLog, log_url: str, processes: int, threads: int, count: int
) -> None:
    used = run_in_processes(use_keys, log_url, processes, threads, count)
    assert sorted(name for each in used for name in each) == list(range(count))
    assert log.last_position() == count


def test_each_step_is_claimed_by_one_process(log: SqlEventLog, log_url: str) -> None:
    steps: list[Step] = [step(f"s-{number}") for number in range(20)]
    log.append(due(*steps))
    taken = run_in_processes(claim_steps, log_url, 3, 4, 20)
    assert sorted(name for each in taken for name in each) == list(range(20))
    owners = {row.step.id: row.owner for row in log.steps()}
    assert owners == {f"s-{name}": f"w-{number}" for number, each in enumerate(taken) for name in each}


def test_decisions_of_several_processes_never_overwrite_each_other(log: SqlEventLog, log_url: str) -> None:
    num_events = sum(run_in_processes(decide_together, log_url, 3, 2, 5))
    recorded = log.read("session-a")
    assert [each.version for each in recorded] == list(range(1, num_events + 1))
    assert len(set(titles(recorded))) == num_events
