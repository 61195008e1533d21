"""Modules as processes: forked from one that has the product imported, or started in a new interpreter.

Importing the product takes most of a short command's time. A forked process is as separate from the test as a
started one: it has streams, an environment, a folder, signals and an end of its own. What it does not show is
what importing does; `tests/cli/test_new_interpreters.py` starts every command in a new interpreter.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
Stream = IO[Any] | int

STARTS_PROCESSES = frozenset({"up", "down", "worker", "beat", "flower", "gateway"})
"""Commands that look for themselves among the machine's processes, or pass on how they were started."""
INTERPRETER = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_", "COVERAGE_")
"""How the names of variables begin that matter before the first line of Python."""


class ForkedProcess:
    """A process that the fork server made: what tests use of `subprocess.Popen`."""

    def __init__(self, connection: socket.socket, arguments: Sequence[str]) -> None:
        self.returncode: int | None = None
        self._arguments = arguments
        self._connection = connection
        self._answer = connection.makefile("r")
        line = self._answer.readline()
        if not line:
            self._close()
            raise OSError("the fork server has ended")
        self.pid = int(line)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; the exit code. Raises `TimeoutExpired` after that many seconds."""
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self._arguments), timeout or 0)
        return code

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            self.returncode = int(self._answer.readline())
            self._close()
        return self.returncode

    def _close(self) -> None:
        self._answer.close()
        self._connection.close()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has, and its exit code is still on the way
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


Process = subprocess.Popen[bytes] | ForkedProcess


def start(
    arguments: Sequence[str],
    streams: tuple[Stream, Stream, Stream],
    *,
    environ: Mapping[str, str],
    folder: Path,
    terminal: bool = False,
) -> Process:
    """Start `python -m` with these arguments, forked where that makes no difference.

    `streams` are its standard input, output and error; with `terminal` the first is its controlling terminal.
    """
    begin = fork if can_fork(arguments, environ) else spawn
    return begin(arguments, streams, environ=environ, folder=folder, terminal=terminal)


def can_fork(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether a forked process does the same as one in a new interpreter."""
    module, *words = arguments
    return (
        module == "hermes_jobs"
        and not STARTS_PROCESSES.intersection(words[1:2] if words[:1] == ["run"] else words[:1])
        and environ.get("PYTHONPATH", str(ROOT)) == str(ROOT)
        and not any(name.startswith(INTERPRETER) for name in environ.keys() - {"PYTHONPATH"})
    )


def spawn(
    arguments: Sequence[str],
    streams: tuple[Stream, Stream, Stream],
    *,
    environ: Mapping[str, str],
    folder: Path,
    terminal: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `python -m` with these arguments in a new interpreter."""
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environ,
        cwd=folder,
        start_new_session=terminal,
        preexec_fn=take_terminal if terminal else None,  # noqa: PLW1509 - it takes no lock
    )


def fork(
    arguments: Sequence[str],
    streams: tuple[Stream, Stream, Stream],
    *,
    environ: Mapping[str, str],
    folder: Path,
    terminal: bool = False,
    imported: tuple[str, ...] = (),
) -> ForkedProcess:
    """Fork a process from this test process's server and have it run `-m` with these arguments.

    `imported`: modules that the server is to have imported besides; each choice has a server of its own.
    """
    files = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_server(imported), [b"."], [*files, theirs.fileno()])
    request = {
        "arguments": arguments,
        "environ": dict(environ),
        "folder": str(folder),
        "terminal": terminal,
    }
    ours.sendall(json.dumps(request).encode())
    ours.shutdown(socket.SHUT_WR)
    return ForkedProcess(ours, arguments)


@cache
def _server(imported: tuple[str, ...]) -> socket.socket:
    """The socket on which this test process's server takes requests; it ends when the socket is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        _SERVERS.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno()), *imported],
                stdin=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )
        )
    return ours


_SERVERS: list[subprocess.Popen[bytes]] = []


def take_terminal() -> None:
    """Make standard input the terminal whose Ctrl-C this process gets."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
