"""CPU affinity: pins a busy worker process to the CPU on which it runs.

Python's threads share one lock and release it around every call of the database or a socket. With several
CPUs each release wakes a thread on another CPU, which mostly finds the lock taken again: that took half of a
busy worker's time. A second CPU is of little use. When other processes load the CPU, the worker is
unpinned, and pinned again where the system schedules it next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from hermes_jobs.system import cpu_affinity

BUSY = 0.1  # of a CPU: a process that uses less is not pinned
CROWDED = 0.25  # of a CPU used by other processes, from which a worker moves if there is room
MIN_GAIN = 0.15  # more idle time of another CPU

_TICKS = 0.01  # seconds, Linux's unit of a CPU's time
_IDLE = (3, 4)  # the columns of a CPU's idle time, and of its wait for a disk
_PROCESSOR = 36  # the column of a thread's last CPU, counted after the thread's name


class Load(msgspec.Struct, frozen=True):
    """CPU use so far, in seconds: wall clock, CPU time of this process, and
    busy time of each permitted CPU.
    """

    at: float
    own: float
    busy: Mapping[int, float]


class Machine(Protocol):
    """Port: the CPUs, and this process's affinity."""

    def load(self) -> Load:
        """The use so far. Raises `OSError` where the system does not report it."""

    def last_cpu(self) -> int:
        """The CPU of the main thread's last run. Raises `OSError`."""

    def pin(self, cpu: int) -> None:
        """Pin the process to the CPU. Raises `OSError`."""

    def unpin(self) -> None:
        """Permit all CPUs again."""


class CpuPinning:
    """The affinity of this process. `adjust` is called about every half second, by one thread."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._cpu: int | None = None
        self._before: Load | None = None

    def adjust(self) -> None:
        """Pin, stay pinned or unpin, by the use since the last call."""
        try:
            before, self._before = self._before, self._machine.load()
            if before is not None:
                self._adjust(before, self._before)
        except (OSError, LookupError, ValueError):  # not supported: the system decides
            self._leave()

    def _adjust(self, before: Load, now: Load) -> None:
        span = now.at - before.at
        own = now.own - before.own
        if span <= 0 or own < BUSY * span:
            return
        if self._cpu is None:
            self._cpu = self._machine.last_cpu()
            self._machine.pin(self._cpu)
            return
        used = {cpu: until - before.busy.get(cpu, until) for cpu, until in now.busy.items()}
        others = used.pop(self._cpu) - own if self._cpu in used else 0.0
        if used and others > CROWDED * span and min(used.values()) < others - MIN_GAIN * span:
            self._leave()

    def _leave(self) -> None:
        self._cpu = None
        self._machine.unpin()


class Linux:
    """The machine as reported by `/proc`."""

    def load(self) -> Load:
        lines = map(str.split, Path("/proc/stat").read_text("ascii").splitlines())
        cpus = {words[0]: words[1:9] for words in lines if words}
        busy = {
            cpu: _TICKS * sum(int(ticks) for column, ticks in enumerate(columns) if column not in _IDLE)
            for cpu in cpu_affinity.allowed_cpus()
            if (columns := cpus.get(f"cpu{cpu}")) is not None
        }
        return Load(time.monotonic(), time.process_time(), busy)

    def last_cpu(self) -> int:
        state = Path("/proc/self/stat").read_text("utf-8", "replace")
        return int(state.rpartition(")")[2].split()[_PROCESSOR])

    def pin(self, cpu: int) -> None:
        cpu_affinity.pin(cpu)

    def unpin(self) -> None:
        cpu_affinity.unpin()
