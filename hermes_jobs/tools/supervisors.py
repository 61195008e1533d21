"""Starts the supervisors of commands: by a server that forks them, else each as an interpreter of its own.

The server (`supervisor_server`) has imported what a supervisor needs, which saves most of the time of a short
command. A process has one from its first command on. It needs pidfds (Linux 5.3).
"""

from __future__ import annotations

import atexit
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hermes_jobs.system.cpu_affinity import without_affinity

SCRIPT = Path(__file__).with_name("supervisor.py")
SERVER_SCRIPT = Path(__file__).with_name("supervisor_server.py")


class Supervisor:
    """A running supervisor. `control`, `status`, `output`: the descriptors of this process's ends of its
    pipes, for the caller to close. `pidfd` is -1 where it is not known."""

    def __init__(
        self, ends: tuple[int, int, int], process: subprocess.Popen[bytes] | None, pidfd: int
    ) -> None:
        self.control, self.status, self.output = ends
        self._process = process
        self._pidfd = pidfd

    def has_ended(self, seconds: float) -> bool:
        """Whether it ends within that time."""
        if self._pidfd >= 0:
            poll = select.poll()  # `select` takes no descriptors from 1024 on
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            return self._process.returncode is not None
        return True  # its server ended just then: nothing is known but what its pipes say

    def kill(self) -> None:
        """Kill it, but not what it has started."""
        with suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Forget it, after its end."""
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def start(arguments: Sequence[str], cwd: str, env: Mapping[str, str], lease: int | None) -> Supervisor:
    """Start one with the arguments that `supervisor` names after its lease, and its timeout before it.

    `lease` is a descriptor that it gets, too. Raises `OSError` if the folder cannot be used.
    """
    timeout, *rest = arguments
    words = [timeout, str(os.getpid()), "-1" if lease is None else str(lease), *rest]
    control, status, output = os.pipe(), os.pipe(), os.pipe()
    own, others = (control[1], status[0], output[0]), (control[0], status[1], output[1])
    try:
        server = _server()
        if server is None:
            return Supervisor(own, _interpreter(words, cwd, env, others, lease), -1)
        descriptors = [*others, *(() if lease is None else (lease,))]
        return Supervisor(own, None, server.start(words, cwd, env, descriptors))
    except BaseException:
        for end in own:
            os.close(end)
        raise
    finally:
        for end in others:
            os.close(end)


def _interpreter(
    words: Sequence[str], cwd: str, env: Mapping[str, str], ends: tuple[int, int, int], lease: int | None
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = ends
    with without_affinity():
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT), *words],
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=() if lease is None else (lease,),
            start_new_session=True,  # a Ctrl-C at the worker's terminal is the worker's to handle
        )


class _Server:
    """This process's end of its server. Thread-safe."""

    def __init__(self) -> None:
        """Start it. Raises `OSError`."""
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(SERVER_SCRIPT), str(other.fileno()), str(os.getpid())]
        nowhere = subprocess.DEVNULL
        with other, without_affinity():
            self._process = subprocess.Popen(
                command,
                cwd="/",
                env={},
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                pass_fds=(other.fileno(),),
                start_new_session=True,
            )
        atexit.register(self.close)

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def start(
        self, words: Sequence[str], cwd: str, env: Mapping[str, str], descriptors: Sequence[int]
    ) -> int:
        """Have it fork a supervisor; returns a pidfd, -1 if the server has ended meanwhile, in which case a
        supervisor may have been started or not. Raises `OSError` if the folder cannot be used."""
        text = marshal.dumps((list(words), cwd, dict(env)))
        request = len(text).to_bytes(4, "big") + text
        with self._lock, suppress(ConnectionError):
            sent = socket.send_fds(self._socket, [request], list(descriptors))
            self._socket.sendall(request[sent:])
            answer, pidfds, _, _ = socket.recv_fds(self._socket, 1, 1, socket.MSG_CMSG_CLOEXEC)
            if answer > b"\0":
                raise OSError(answer[0], os.strerror(answer[0]), cwd)
            return pidfds[0] if pidfds else -1
        return -1

    def close(self) -> None:
        """End it; what it has started continues."""
        atexit.unregister(self.close)
        self._socket.close()
        self._process.wait()


_starting = threading.Lock()
_servers: dict[int, _Server] = {}
"""By the id of the process to which it belongs: a child by fork has another one."""


def _server() -> _Server | None:
    """The server of this process; None where there can be none."""
    if sys.platform != "linux":
        return None
    with _starting, suppress(OSError):
        server = _servers.get(os.getpid())
        if server is None or not server.runs():
            if server is not None:
                server.close()
            os.close(os.pidfd_open(os.getpid()))
            server = _servers[os.getpid()] = _Server()
        return server
    return None
