"""Which process a number means: the number and when that process began, so that one used again is another."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def begun(pid: int) -> str:
    """The system's start time of the running process with that id; empty if there is none."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc/self").exists() else _by_ps(pid)
    boot = Path("/proc/sys/kernel/random/boot_id")
    return "" if state in "ZX" else f"{boot.read_text().strip()}:{rest[18]}"


def is_alive(pid: int, since: str) -> bool:
    """Whether the process that had that number and beginning still runs."""
    return since != "" and begun(pid) == since


def runs(pid: int) -> bool:
    """Whether that process runs, or waits to run: it has neither ended nor been stopped (SIGSTOP)."""
    return _state(pid)[:1] not in {"", "T", "t", "Z", "X"}


def marked(variable: str, value: str) -> Iterator[int]:
    """The living processes that were started with that variable in their environment; none without /proc."""
    marker = os.fsencode(f"{variable}={value}")
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return
    for name in filter(str.isdigit, names):
        with suppress(OSError):
            if marker in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                yield int(name)


def kill(pids: Iterator[int]) -> int:
    """Kill them at once; how many were there."""
    count = 0
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            count += 1
    return count


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].strip()
    except OSError:
        return "" if Path("/proc/self").exists() else _by_ps(pid, "stat=")


def _by_ps(pid: int, column: str = "lstart=") -> str:
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", column, "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout.strip()
    return ""
