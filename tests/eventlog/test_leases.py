"""Who is alive: a process's own lease, and what others see of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from signal import SIGSTOP
from typing import Any

import pytest

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.leases import FailureDetector, Lease
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks
from hermes_jobs.kernel.log.log import EventLog, WorkerRow
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.manual_clock import ManualClock
from tests.processes import ROOT
from tests.tools.support import wait_until

LEASE_SECONDS = 6.0
HOLDING = """
import sys
from pathlib import Path
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks
held = LivenessLocks(Path(sys.argv[1])).hold(sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


@pytest.fixture
def folder(tmp_path: Path) -> LivenessLocks:
    return LivenessLocks(tmp_path / "run" / "workers")


@pytest.fixture
def sqlite_log(tmp_path: Path) -> Iterator[EventLog]:
    log = open_log(sqlite_url(tmp_path / "events.db"))
    yield log
    log.close()


def lease(log: EventLog, folder: LivenessLocks, worker: str = "w-1", **rest: Any) -> Lease:
    return Lease(
        log, folder, worker=worker, name="worker 1", queues=("turns",), lease_seconds=LEASE_SECONDS, **rest
    )


def foreign(worker: str, beats: int = 0) -> WorkerRow:
    """A worker of another host."""
    return WorkerRow(id=worker, name="", locks="elsewhere", queues=(), beats=beats, build_level=1)


class TestLease:
    def test_a_process_is_among_the_workers_from_its_lease_to_its_end(
        self, sqlite_log: EventLog, folder: LivenessLocks
    ) -> None:
        held = lease(sqlite_log, folder)
        assert [(each.id, each.locks, each.queues) for each in sqlite_log.workers()] == [
            ("w-1", folder.id, ("turns",))
        ]
        assert not folder.is_free("w-1")
        held.close()
        assert list(sqlite_log.workers()) == []
        assert folder.is_free("w-1")
        assert not held.is_fresh()

    @pytest.fixture
    def elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The log is one that other hosts use."""
        monkeypatch.setattr(SqlEventLog, "is_local", False)

    @pytest.mark.usefixtures("elsewhere")
    def test_it_is_fresh_for_half_its_time_after_each_renewal(
        self, sqlite_log: EventLog, folder: LivenessLocks, clock: ManualClock
    ) -> None:
        held = lease(sqlite_log, folder, clock=clock)
        clock.moment += 2.9
        assert held.is_fresh()
        clock.moment += 0.2
        assert not held.is_fresh()
        held.renew()
        assert held.is_fresh()
        assert [each.beats for each in sqlite_log.workers()] == [1]
        held.close()

    def test_once_declared_dead_it_is_never_fresh_again(
        self, sqlite_log: EventLog, folder: LivenessLocks, clock: ManualClock
    ) -> None:
        held = lease(sqlite_log, folder, clock=clock)
        sqlite_log.unregister("w-1")
        held.renew()
        assert held.is_lost
        held.renew()
        assert not held.is_fresh()
        assert list(sqlite_log.workers()) == []
        held.close()

    def test_while_the_log_cannot_be_reached_nothing_is_renewed(
        self, sqlite_log: EventLog, folder: LivenessLocks, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held = lease(sqlite_log, folder, clock=clock)

        def unreachable(worker: str) -> bool:
            raise LogUnavailable("gone")

        with monkeypatch.context() as patched:
            patched.setattr(sqlite_log, "heartbeat", unreachable)
            clock.moment += 4
            held.renew()
        assert not held.is_fresh()
        assert not held.is_lost
        held.renew()
        assert held.is_fresh()
        held.close()

    def test_where_nobody_takes_steps_from_a_process_that_runs_it_is_fresh_until_it_is_declared_dead(
        self, sqlite_log: EventLog, folder: LivenessLocks, clock: ManualClock
    ) -> None:
        held = lease(sqlite_log, folder, clock=clock)
        clock.moment += 100
        assert held.is_fresh()
        assert held.seconds_left == LEASE_SECONDS / 2
        clock.moment += 100
        assert sqlite_log.evict(sqlite_log.workers()[0])
        assert not held.is_fresh()
        assert held.is_lost
        held.close()

    @pytest.mark.usefixtures("elsewhere")
    def test_its_age_counts_from_before_the_renewal(
        self, sqlite_log: EventLog, folder: LivenessLocks, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held = lease(sqlite_log, folder, clock=clock)

        def slow(worker: str) -> bool:
            clock.moment += 4
            return True

        monkeypatch.setattr(sqlite_log, "heartbeat", slow)
        held.renew()
        assert not held.is_fresh()
        held.close()

    def test_once_started_it_renews_itself(
        self, sqlite_log: EventLog, folder: LivenessLocks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        beaten = threading.Event()
        beat = sqlite_log.heartbeat

        def noticed(worker: str) -> bool:
            try:
                return beat(worker)
            finally:
                beaten.set()

        monkeypatch.setattr(sqlite_log, "heartbeat", noticed)
        held = Lease(sqlite_log, folder, worker="w-1", name="", queues=(), lease_seconds=0.06)
        held.start()
        assert beaten.wait(60)
        held.close()

    def test_an_id_is_held_by_one_process_only(self, sqlite_log: EventLog, folder: LivenessLocks) -> None:
        held = lease(sqlite_log, folder)
        with pytest.raises(BlockingIOError):
            lease(sqlite_log, folder)
        assert [each.id for each in sqlite_log.workers()] == ["w-1"]
        held.close()


class TestObserver:
    @pytest.fixture
    def observer(self, folder: LivenessLocks, clock: ManualClock) -> FailureDetector:
        return FailureDetector(folder, lease_seconds=LEASE_SECONDS, monotonic=clock)

    def look(
        self, observer: FailureDetector, clock: ManualClock, seconds: float, workers: Sequence[WorkerRow]
    ) -> set[str]:
        """What is dead at the last of looks that are a second apart."""
        dead: set[str] = set()
        for _ in range(round(seconds)):
            clock.moment += 1
            dead = observer.dead(workers)
        return dead

    def test_a_counter_unchanged_for_a_lease_is_a_death(
        self, observer: FailureDetector, clock: ManualClock
    ) -> None:
        workers = [foreign("still"), foreign("alive")]
        assert observer.dead(workers) == set()
        assert self.look(observer, clock, 5, workers) == set()
        assert self.look(observer, clock, 1, [foreign("still"), foreign("alive", 1)]) == {"still"}

    def test_a_counter_that_moves_starts_the_time_again(
        self, observer: FailureDetector, clock: ManualClock
    ) -> None:
        assert self.look(observer, clock, 6, [foreign("w", 0)]) == set()
        assert self.look(observer, clock, 6, [foreign("w", 1)]) == set()
        assert self.look(observer, clock, 1, [foreign("w", 1)]) == {"w"}

    def test_an_observer_that_slept_itself_does_not_take_the_others_for_dead(
        self, observer: FailureDetector, clock: ManualClock
    ) -> None:
        self.look(observer, clock, 1, [foreign("w", 0)])
        clock.moment += 3600
        assert observer.dead([foreign("w", 0)]) == set()
        assert self.look(observer, clock, 1, [foreign("w", 1)]) == set()

    def test_an_unregistered_holder_of_a_step_is_dead(
        self, observer: FailureDetector, sqlite_log: EventLog
    ) -> None:
        assert observer.dead([foreign("w-1")], {"w-1", "w-2"}) == {"w-2"}

    def test_a_living_process_of_this_host_is_alive(
        self, observer: FailureDetector, folder: LivenessLocks, sqlite_log: EventLog
    ) -> None:
        held = lease(sqlite_log, folder)
        assert observer.dead(sqlite_log.workers(), {"w-1"}) == set()
        held.close()

    def test_a_process_of_this_host_that_runs_is_alive_although_its_counter_stands_still(
        self, observer: FailureDetector, folder: LivenessLocks, clock: ManualClock
    ) -> None:
        held = folder.hold("w-1")
        late = WorkerRow(id="w-1", name="", locks=folder.id, queues=(), beats=0, build_level=1)
        assert self.look(observer, clock, 100, [late]) == set()
        held.give_up()
        assert self.look(observer, clock, 7, [late]) == {"w-1"}
        held.release()

    def test_a_stopped_process_of_this_host_is_dead_when_its_lease_is_over(
        self, observer: FailureDetector, folder: LivenessLocks, clock: ManualClock, tmp_path: Path
    ) -> None:
        words = ["-c", HOLDING, str(tmp_path / "run" / "workers"), "w-1"]
        with subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            late = WorkerRow(id="w-1", name="", locks=folder.id, queues=(), beats=0, build_level=1)
            assert self.look(observer, clock, 20, [late]) == set()
            process.send_signal(SIGSTOP)
            wait_until(lambda: not folder.is_at_work("w-1"), "its stop")
            assert self.look(observer, clock, 7, [late]) == {"w-1"}
            process.kill()

    def test_a_process_of_this_host_without_its_lock_is_dead_at_once(
        self, observer: FailureDetector, folder: LivenessLocks
    ) -> None:
        gone = WorkerRow(id="gone", name="", locks=folder.id, queues=(), beats=0, build_level=1)
        assert observer.dead([gone]) == {"gone"}

    def test_the_lock_files_of_another_folder_say_nothing(
        self, observer: FailureDetector, folder: LivenessLocks, tmp_path: Path
    ) -> None:
        other = LivenessLocks(tmp_path / "other")
        assert other.id != folder.id
        there = WorkerRow(id="there", name="", locks=other.id, queues=(), beats=0, build_level=1)
        assert observer.dead([there]) == set()


class TestLivenessLocks:
    def test_every_process_reads_the_same_id_of_a_folder(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            folders = list(pool.map(lambda _: LivenessLocks(tmp_path / "locks"), range(8)))
        assert len({folder.id for folder in folders}) == 1
        assert [path.name for path in (tmp_path / "locks").iterdir()] == ["folder-id"]

    def test_sweeping_keeps_held_locks(self, folder: LivenessLocks, tmp_path: Path) -> None:
        held = folder.hold("held")
        (tmp_path / "run" / "workers" / "stale.lock").touch()
        folder.sweep()
        names = {path.name for path in (tmp_path / "run" / "workers").iterdir()}
        assert names == {"folder-id", "held.lock"}
        held.release()


WORK = """
import sys
from pathlib import Path
from hermes_jobs.kernel.log.leases import Lease
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks
from hermes_jobs.kernel.log.factory import open_log
lease = Lease(open_log(sys.argv[1]), LivenessLocks(Path(sys.argv[2])), worker="w-1", name="", queues=(),
              lease_seconds=6.0)
lease.start()
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_killed_process_of_this_host_is_seen_dead_at_once(
    sqlite_log: EventLog, folder: LivenessLocks, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", WORK, sqlite_url(tmp_path / "events.db"), str(tmp_path / "run/workers")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        observer = FailureDetector(folder, lease_seconds=LEASE_SECONDS)
        assert observer.dead(sqlite_log.workers()) == set()
        process.kill()
        process.wait()
    assert observer.dead(sqlite_log.workers()) == {"w-1"}
