"""A process's place among the workers, which others may have taken from it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.leases import Lease
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks
from hermes_jobs.kernel.log.log import EventLog, WorkerRow
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.runtime.worker_lease import WorkerLease
from tests.engine.simulation import (
    CountedIds,
    Gates,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)


def test_a_place_that_was_lost_is_taken_anew_once_the_log_is_back(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = Gates()
    engine = simulated_engine(
        log, "", ShiftedClock(lambda: 0.0), CountedIds(), Wakes(), gates, SimulatedToolbox(gates), []
    )
    folder = LivenessLocks(tmp_path / "locks")
    made: list[Lease] = []
    numbers = itertools.count(1)

    def new_lease() -> Lease:
        lease = Lease(log, folder, worker=f"w-{next(numbers)}", name="", queues=(), lease_seconds=600.0)
        made.append(lease)
        return lease

    def unreachable(worker: WorkerRow) -> None:
        raise LogUnavailable("gone")

    tenure = WorkerLease(engine, new_lease)
    log.unregister("w-1")
    made[0].renew()
    with monkeypatch.context() as patched:
        patched.setattr(log, "register", unreachable)
        for _ in range(2):
            with pytest.raises(LogUnavailable):
                tenure.ensure()
    assert not tenure.is_valid
    assert tenure.ensure()
    assert [each.id for each in log.workers()] == [engine.worker] == ["w-4"]
    assert folder.is_free("w-1")
    tenure.close()
    assert list(log.workers()) == []


def test_running_work_ends_with_the_lease_if_the_log_does_not_answer(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = Gates()
    engine = simulated_engine(
        log, "", ShiftedClock(lambda: 0.0), CountedIds(), Wakes(), gates, SimulatedToolbox(gates), []
    )
    folder = LivenessLocks(tmp_path / "locks")
    answers, lost = threading.Event(), threading.Event()

    def swallowed(worker: str) -> bool:
        return answers.wait(60)

    tenure = WorkerLease(
        engine, lambda: Lease(log, folder, worker="w-1", name="", queues=(), lease_seconds=0.1)
    )
    with monkeypatch.context() as patched, engine.in_flight.track("s", "t") as act:
        patched.setattr(log, "heartbeat", swallowed)
        patched.setattr(SqlEventLog, "is_local", False)  # another host may take its steps
        act.cancel.on_cancel(lost.set)
        tenure.start()
        assert lost.wait(60)
        assert act.cancel.reason == "lost"
        answers.set()
        tenure.close()


def test_running_work_continues_while_a_log_of_this_host_only_lets_writers_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = Gates()
    log = open_log(sqlite_url(tmp_path / "events.db"))
    engine = simulated_engine(
        log, "", ShiftedClock(lambda: 0.0), CountedIds(), Wakes(), gates, SimulatedToolbox(gates), []
    )
    folder = LivenessLocks(tmp_path / "locks")
    looked = threading.Semaphore(0)
    workers = log.workers

    def noticed() -> Sequence[WorkerRow]:
        looked.release()
        return workers()

    tenure = WorkerLease(
        engine, lambda: Lease(log, folder, worker="w-1", name="", queues=(), lease_seconds=0.2)
    )
    with monkeypatch.context() as patched, engine.in_flight.track("s", "t") as act:
        patched.setattr(Lease, "renew", lambda _lease: None)
        patched.setattr(log, "workers", noticed)
        tenure.start()
        assert all(looked.acquire(timeout=60) for _ in range(5))
        assert act.cancel.reason is None
        assert log.evict(workers()[0])
        lost = threading.Event()
        act.cancel.on_cancel(lost.set)
        assert lost.wait(60)
        tenure.close()
    log.close()
