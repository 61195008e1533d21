"""The holder of a lock, for messages: the process, its command line, and whether it is stopped."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

SHOWN = 80  # characters of a command line
_WRITING = 120  # the byte of the WAL index that a writer locks: https://sqlite.org/walformat.html
_STOPPED = "Tt"


def described(pid: int, host: str = "") -> str:
    """The process with that id, of another host (or container) where one is named."""
    if host and host != os.uname().nodename:
        return f"process {pid} on {host}"
    stopped = f"stopped; `kill -CONT {pid}` lets it go on" if _is_stopped(pid) else ""
    about = "; ".join(filter(None, (_command(pid), stopped)))
    return f"process {pid} ({about})" if about else f"process {pid}"


def sqlite_writer(path: Path) -> int | None:
    """The process that has the write lock of an SQLite file in WAL mode; None where the system does not say.

    Linux alone does, in /proc/locks: https://man7.org/linux/man-pages/man5/proc_locks.5.html
    """
    with suppress(OSError, ValueError):
        index = Path(f"{path}-shm").stat()
        name = f"{os.major(index.st_dev):02x}:{os.minor(index.st_dev):02x}:{index.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if words[1] == "->" or words[1] != "POSIX" or words[3] != "WRITE" or words[5] != name:
                continue
            if int(words[6]) <= _WRITING <= (int(words[7]) if words[7] != "EOF" else _WRITING):
                return int(words[4])
    return None


def _command(pid: int) -> str:
    """What it runs; empty where that cannot be seen."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        text = shlex.join(words)
    except OSError:
        text = _asked(pid)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _asked(pid: int) -> str:
    """The same on systems without /proc."""
    if Path("/proc/self").exists():
        return ""
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        asked = ["ps", "-o", "args=", "-p", str(pid)]
        return subprocess.run(asked, capture_output=True, text=True, timeout=2, check=False).stdout.strip()
    return ""


def _is_stopped(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in _STOPPED
