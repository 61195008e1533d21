"""The process of a stdio server, under the same supervisor as commands, with its stderr in a log.

The supervisor kills the server and all its child processes: on request, when its pipe to this process closes,
and when the server itself ends. The server's messages go through two separate pipes.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

from hermes_jobs.features.mcp.messages import Launch
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.processes import SHELLS
from hermes_jobs.tools.sandbox import Enclosure, Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.supervisors import SCRIPT
from hermes_jobs.tools.tool import ToolFailed

LOG_BYTES = 1 << 20
LAST_SECONDS = 2.0  # seconds for a server to end by itself, and then after a signal
TAIL_LINES = 20
TAIL_CHARS = 2_000
MAX_LINE = 4_000
HIDDEN = "[REDACTED]"
MIN_SECRET = 6


class StderrLog:
    """A server's stderr: a file, a second one with older output, and the last lines.

    Known secrets do not appear in it.
    """

    def __init__(self, path: Path, secrets: tuple[str, ...]) -> None:
        self._path = path
        self._secrets = [secret for secret in secrets if len(secret) >= MIN_SECRET]
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._file = path.open("a", encoding="utf-8")
        path.chmod(0o600)

    def add(self, line: str) -> None:
        """Append a line; rotates a file that has become too large."""
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        self._lines.append(line)
        try:
            self._file.write(f"{line}\n")
            self._file.flush()
            if self._file.tell() > LOG_BYTES:
                self._file.close()
                self._path.replace(self._path.with_suffix(".log.1"))
                self._file = self._path.open("a", encoding="utf-8")
                self._path.chmod(0o600)
        except OSError:  # the disk is full: the server continues
            return

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self._lines)[-TAIL_CHARS:]


class ServerProcess:
    """A started server: `stdin` and `stdout` are the descriptors of its messages."""

    def __init__(self, launch: Launch, log: StderrLog) -> None:
        """Start it. Raises `OSError`, and `ValueError` for an impossible command line."""
        self.log = log
        if "/" not in launch.command and shutil.which(launch.command, path=launch.env.get("PATH")) is None:
            raise FileNotFoundError(errno.ENOENT, "no program of that name is on PATH")
        server_in, self.stdin = os.pipe()
        self.stdout, server_out = os.pipe()
        errors, server_err = os.pipe()
        try:
            self._supervisor = self._start(launch, (server_in, server_out, server_err))
        except BaseException:
            for descriptor in (self.stdin, self.stdout, errors):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (server_in, server_out, server_err):
                os.close(descriptor)
        self._reader = threading.Thread(target=self._read_errors, args=(errors,), daemon=True)
        self._reader.start()

    @staticmethod
    def _start(launch: Launch, ends: tuple[int, int, int]) -> subprocess.Popen[bytes]:
        server_in, server_out, server_err = ends
        # Of the shell's redirections only these are in POSIX: one digit, and the descriptors are its own.
        command = shlex.join([launch.command, *launch.args])
        moved = f"exec <&{server_in} >&{server_out} {server_in}<&- {server_out}>&- && exec {command}"
        shell = next((path for path in SHELLS if Path(path).exists()), SHELLS[-1])
        limits = ["inf", str(os.getpid()), "-1"]
        enclosure = _enclosed(launch)
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT), *limits, shell, moved, "", enclosure.plan],
            cwd=launch.cwd,
            env={**enclosure.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=server_err,
            pass_fds=(server_in, server_out),
            start_new_session=True,
        )

    def _read_errors(self, errors: int) -> None:
        with os.fdopen(errors, "rb", buffering=0) as pipe:
            rest = b""
            while chunk := pipe.read(1 << 16):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self.log.add(line[:MAX_LINE].decode(errors="replace").rstrip("\r"))
                rest = rest[:MAX_LINE]
            if rest:
                self.log.add(rest.decode(errors="replace"))

    def how_it_ended(self) -> str:
        """How the server has ended, after the end of its pipes: the supervisor has reported it then."""
        self._reader.join(1)  # its last lines
        output = self._supervisor.stdout
        words = output.read(200).decode() if output is not None and not output.closed else ""
        match = re.search(r"ended exit (\d+)", words)
        if match is None:
            return "it was killed"
        code = os.waitstatus_to_exitcode(int(match[1]))
        return f"it ended with exit code {code}" if code >= 0 else f"it was killed by signal {-code}"

    def stop(self) -> None:
        """Have the server ended with everything that it has started, and wait for that.

        Its input has been closed before, as the request to exit.
        """
        control, output = self._supervisor.stdin, self._supervisor.stdout
        assert control is not None
        assert output is not None
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(LAST_SECONDS)
        with suppress(OSError):
            control.write(b"c")
            control.flush()
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(LAST_SECONDS)
        with suppress(OSError):
            control.close()
        if not output.closed:
            output.close()
        try:
            self._supervisor.wait(15)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        self._reader.join(1)


def _enclosed(launch: Launch) -> Enclosure:
    """How the server starts: it writes to folders of its own and to those that its entry names.

    Raises `OSError` where its working folder is in the home.
    """
    confinement = launch.sandbox
    if confinement is None:
        return Enclosure(plan="", environment=launch.env)
    sandbox = Sandbox(paths=PathPolicy(home=confinement.home, user_home=confinement.user_home, roots=()))
    reach = SandboxReach(visible=(*confinement.readable, *confinement.writable))
    try:
        return sandbox.enclose(
            launch.cwd,
            reach,
            launch.env,
            scratch=confinement.scratch,
            places=confinement.writable,
            guest=True,
        )
    except ToolFailed as error:
        raise OSError(str(error)) from error
