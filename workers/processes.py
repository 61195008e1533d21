"""Supervised processes: started through the process guard, logged, restarted when they end; and the signals
that stop their supervisor."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Self

from hermes_jobs.system import process_guard

PROCESS_GUARD = Path(process_guard.__file__)
FIRST_PAUSE = 0.25  # seconds before the first restart; each further pause is twice as long
MAX_PAUSE = 30.0
STEADY = 60.0  # seconds of running after which the pauses start over
LOG_BYTES = 10_000_000  # a longer log is renamed to `NAME.1`


class SupervisedProcess:
    """One command that ends with this process; `restart_if_exited` restarts it when it ends by itself.

    It runs in its own session: Ctrl-C in a terminal reaches the supervisor only.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        grace: float,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """`grace` is the time in seconds between TERM and KILL when it is stopped."""
        self._command = [sys.executable, "-I", "-S", str(PROCESS_GUARD), str(grace), *command]
        self._log = log
        self._environ = environ
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._start_again_at = 0.0
        self._pause = 0.0

    def start(self) -> None:
        """Start the process. Raises `OSError` if its log cannot be written."""
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environ,
                cwd=self._cwd,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._started_at = time.monotonic()

    @property
    def pid(self) -> int | None:
        """The process guard's process id; None before the start."""
        return None if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def restart_if_exited(self) -> int | None:
        """Restart the process if it has ended, with growing pauses; call it periodically.

        Returns its exit code at the first call after its end, else None.
        """
        rotate_log(self._log)
        if self.is_running:
            return None
        now = time.monotonic()
        if self._process is not None:
            code, guard = self._process.returncode, self._process.pid
            self._release()
            if code < 0:
                wake_session(guard)
            self._put_off(steady=now - self._started_at >= STEADY)
            return code
        if now >= self._start_again_at:
            try:
                self.start()
            except OSError:  # out of processes or files: retry later
                self._put_off()
        return None

    def _put_off(self, *, steady: bool = False) -> None:
        """Double the pause before the next start, unless the process ran steadily."""
        self._pause = FIRST_PAUSE if steady else min(max(self._pause * 2, FIRST_PAUSE), MAX_PAUSE)
        self._start_again_at = time.monotonic() + self._pause

    @property
    def starts_in(self) -> float:
        """Seconds until `restart_if_exited` will start it."""
        return max(0.0, self._start_again_at - time.monotonic())

    def ask_to_stop(self) -> None:
        """Ask it to stop within its grace; a second call stops it at once."""
        if self._process is not None:
            self._process.terminate()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end; returns whether it has ended."""
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._release()
        return True

    def stop(self) -> None:
        """Ask it to stop and wait for its end."""
        self.ask_to_stop()
        self.wait()

    def _release(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()


def wake_session(session: int) -> None:
    """Let stopped processes of a session run, whose guard was killed: the TERM that they got then ends them.

    Linux wakes a stopped group when it loses its parent, but not one that is just about to stop.
    """
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(entry.name)) == session:
                os.kill(int(entry.name), signal.SIGCONT)


def rotate_log(log: Path) -> None:
    """Rename a log that is too long to `NAME.1`."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            # The writer keeps the file open for appending, and continues at the new end.
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ShutdownSignals:
    """Counts stop signals; they, and the end of a child process, end `wait`."""

    def __enter__(self) -> Self:
        self.num_requests = 0
        self._reader, writer = os.pipe()
        for end in (self._reader, writer):
            os.set_blocking(end, False)
        self._writer = writer
        # Signals that the parent process set to be ignored (nohup, a shell's background) stay ignored.
        handled = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in (*handled, signal.SIGCHLD)}
        self._fd_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_error: object) -> None:
        signal.set_wakeup_fd(self._fd_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float) -> None:
        """Wait for a signal, for at most `seconds`."""
        if select.select([self._reader], [], [], seconds)[0]:
            os.read(self._reader, 4096)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number in STOPPING:
            self.num_requests += 1
