"""One interpreter, one CPU: a busy worker's threads stay on the CPU where the system has placed them.

Python's threads take turns at one lock, and release it around every call of the database or a socket. With
several CPUs each release wakes a thread on another one, which mostly finds the lock taken again: half of a
busy worker's time went there. What a second CPU would do besides is little. Where other processes crowd the
CPU, the worker is let go, and stays where the system places it next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from hermes_jobs.system import cpu_affinity

BUSY = 0.1  # of a CPU: a process that takes less has no need of a place
CROWDED = 0.25  # of a CPU that others take; a worker moves for that, if there is
ROOM = 0.15  # more of another CPU

_TICKS = 0.01  # seconds, Linux's unit of a CPU's time
_IDLE = (3, 4)  # the columns of a CPU's time in which it has nothing to do, or waits for a disk
_PROCESSOR = 36  # the column of a thread's state that says where it ran last, behind the thread's name


class Load(msgspec.Struct, frozen=True):
    """Seconds until now: by the clock, of CPU time that this process took, and in which each CPU was busy
    where it may run."""

    at: float
    own: float
    busy: Mapping[int, float]


class Machine(Protocol):
    """The CPUs, and this process on them."""

    def load(self) -> Load:
        """What was used until now. Raises `OSError` where the system does not tell."""

    def last_cpu(self) -> int:
        """Where the process's main thread ran last. Raises `OSError`."""

    def pin(self, cpu: int) -> None:
        """Keep the process there. Raises `OSError`."""

    def unpin(self) -> None:
        """Let the system place it."""


class CpuPinning:
    """Minds where this process runs. `mind` is called every half second or so, by one thread."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._cpu: int | None = None
        self._before: Load | None = None

    def adjust(self) -> None:
        """Take a place, keep it or give it up, by what has happened since the last time."""
        try:
            before, self._before = self._before, self._machine.load()
            if before is not None:
                self._mind(before, self._before)
        except (OSError, LookupError, ValueError):  # another system, or one that tells it otherwise, decides
            self._leave()

    def _mind(self, before: Load, now: Load) -> None:
        span = now.at - before.at
        own = now.own - before.own
        if span <= 0 or own < BUSY * span:
            return
        if self._cpu is None:
            self._cpu = self._machine.last_cpu()
            self._machine.pin(self._cpu)
            return
        taken = {cpu: until - before.busy.get(cpu, until) for cpu, until in now.busy.items()}
        others = taken.pop(self._cpu) - own if self._cpu in taken else 0.0
        if taken and others > CROWDED * span and min(taken.values()) < others - ROOM * span:
            self._leave()

    def _leave(self) -> None:
        self._cpu = None
        self._machine.unpin()


class Linux:
    """The machine as `/proc` tells of it."""

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
