"""Processes that write to one log together."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import Any

from hermes_jobs.errors import Conflict, KeyTaken, StepLost
from hermes_jobs.kernel.log.factory import open_log
from tests.eventlog.changes import append, claim, key, write

Job = Callable[[str, int, int, int], Any]

_barriers: list[Barrier] = []


def run_in_processes(job: Job, url: str, processes: int, threads: int, count: int) -> list[Any]:
    """What each process's job returned; they start together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=_meet_at, initargs=(barrier,)
    ) as pool:
        jobs = [pool.submit(_run, job, url, number, threads, count) for number in range(processes)]
        return [each.result() for each in jobs]


def _meet_at(barrier: Barrier) -> None:
    _barriers.append(barrier)


def _run(job: Job, url: str, number: int, threads: int, count: int) -> Any:
    _barriers[0].wait()
    return job(url, number, threads, count)


def write_own_streams(url: str, number: int, threads: int, count: int) -> int:
    """Each thread writes a stream of its own, and one that all write; how many events that were."""
    log = open_log(url)

    def write_one(thread: int) -> None:
        for version in range(count):
            own = write(f"session-own-{number}-{thread}", f"{number}.{thread}.{version}", expected=version)
            log.append(
                append(own, write("session-shared", f"{number}.{thread}.{version}"), durable=version % 2 == 0)
            )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write_one, range(threads)))
    log.close()
    return 2 * threads * count


def use_keys(url: str, number: int, threads: int, count: int) -> list[int]:
    """The numbers of the keys that this process was the first to use."""
    log = open_log(url)

    def use(name: int) -> bool:
        try:
            log.append(append(write(f"session-{number}", str(name)), keys=(key(str(name)),)))
        except KeyTaken:
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        used = list(pool.map(use, range(count)))
    log.close()
    return [name for name, first in enumerate(used) if first]


def claim_steps(url: str, number: int, threads: int, count: int) -> list[int]:
    """The numbers of the steps that this process got."""
    log = open_log(url)

    def take(name: int) -> bool:
        try:
            log.append(claim(f"s-{name}", f"w-{number}", number, write("session-a", str(name))))
        except StepLost:
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        taken = list(pool.map(take, range(count)))
    log.close()
    return [name for name, won in enumerate(taken) if won]


def decide_together(url: str, number: int, threads: int, count: int) -> int:
    """Each thread appends to the one stream against the version that it read, until it has succeeded."""
    log = open_log(url)

    def decide(thread: int) -> None:
        for title in range(count):
            while True:
                head = log.head("session-a")
                names = f"{number}.{thread}.{title}"
                try:
                    log.append(append(write("session-a", names, expected=head.version if head else 0)))
                except Conflict:
                    continue
                break

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(decide, range(threads)))
    log.close()
    return threads * count
