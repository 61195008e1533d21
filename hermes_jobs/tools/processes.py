"""Runs commands from a worker, each under a supervisor process, with bounded output."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH110

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.tools import supervisors
from hermes_jobs.tools.output import BoundedOutput, plain_text
from hermes_jobs.tools.supervisors import Supervisor

SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
MAX_COMMAND_BYTES = 100_000  # Linux takes at most 128 KiB in one argument of exec
MAX_OUTPUT_BYTES = 8 * 1024 * 1024
HANG = 8.0  # seconds over the time limit after which the supervisor counts as stuck
CLEANUP_SECONDS = 12.0  # further seconds for the command `afterwards`
TICK = 0.5  # seconds between two checks whether a cancel has made the limit shorter
CHUNK = 1 << 18
LAST_READS = 16  # more than a pipe holds; a process that could not be killed may continue writing


@dataclass(frozen=True, kw_only=True)
class Completed:
    """How a command ended.

    `exit_code` is the shell's (128 + n for signal n), None when the command was killed. `cut` bytes were left
    out of the middle of `output`. `lost`: the supervisor itself was killed. `left` counts the processes that
    could not be.
    """

    exit_code: int | None
    output: str
    timed_out: bool = False
    interrupted: bool = False
    cut: int = 0
    lost: bool = False
    num_left: int = 0


def run(  # noqa: PLR0913 - what a process is started with
    command: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    cancel: Cancel,
    max_bytes: int = MAX_OUTPUT_BYTES,
    afterwards: str = "",
    sandbox: str = "",
) -> Completed:
    """Run a shell command for at most `timeout` seconds and wait until all its processes have ended.

    It has no terminal and no input, and neither starts nor continues when the lease of `cancel` has expired.
    Unless it succeeded, the command `afterwards` is run after it, also if this process has died meanwhile.
    `sandbox` is its plan, from `sandbox.Sandbox.plan`. Raises `OSError` if the folder cannot be used,
    `ValueError` for an impossible command line (a NUL character, over 100,000 bytes).
    """
    if "\0" in command or len(os.fsencode(command)) > MAX_COMMAND_BYTES:
        raise ValueError(f"a command must be under {MAX_COMMAND_BYTES:,} bytes and without NUL characters")
    supervisor = _start((str(timeout), command, afterwards, sandbox), cwd, env, cancel)
    control = _Control(supervisor, timeout, HANG + CLEANUP_SECONDS if afterwards else HANG)
    forget = cancel.on_cancel(control.stop)
    try:
        collected = BoundedOutput(max_bytes)
        status = _follow(supervisor, control, collected)
    finally:
        forget()
        control.close()
    if "ended" not in status and afterwards:
        run(afterwards, cwd="/", env=env, timeout=CLEANUP_SECONDS, cancel=_NeverCancelled())
    return _completed(status, collected)


class _NeverCancelled:
    """A `Cancel` that does not fire."""

    reason = None

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def share_lease(self) -> None:
        """Has no effect: the cleanup command may run after the lease."""


def _start(call: tuple[str, str, str, str], cwd: str, env: Mapping[str, str], cancel: Cancel) -> Supervisor:
    """Start the supervisor for (timeout, command, afterwards, sandbox)."""
    timeout, *rest = call
    shell = next((path for path in SHELLS if os.path.exists(path)), SHELLS[-1])
    lease = cancel.share_lease()
    try:
        supervisor = supervisors.start((timeout, shell, *rest), cwd, env, lease)
    finally:
        if lease is not None:
            os.close(lease)
    os.set_blocking(supervisor.output, False)
    return supervisor


class _Control:
    """The worker's end of the supervisor's control pipe, safe to use from the thread that cancels."""

    def __init__(self, supervisor: Supervisor, timeout: float, hang: float) -> None:
        self._supervisor = supervisor
        self._lock = threading.Lock()
        self._hang = hang
        self._is_closed = False
        self.give_up_at = time.monotonic() + timeout + hang

    def stop(self) -> None:
        """Request that the command is killed."""
        with self._lock:
            if self._is_closed:
                return
            self.give_up_at = min(self.give_up_at, time.monotonic() + self._hang)
            with contextlib.suppress(OSError):
                os.write(self._supervisor.control, b"c")

    def close(self) -> None:
        """Close the pipes and wait for the supervisor, which kills the command if it has not ended."""
        supervisor = self._supervisor
        with self._lock:
            self._is_closed = True
            for end in (supervisor.control, supervisor.status, supervisor.output):
                os.close(end)
        if not supervisor.has_ended(self._hang):
            supervisor.kill()
            supervisor.has_ended(self._hang)
        supervisor.close()


def _follow(supervisor: Supervisor, control: _Control, collected: BoundedOutput) -> dict[str, list[str]]:
    """Read the output until the supervisor reports the end of the command, or has itself ended."""
    lines_read, output, status = b"", supervisor.output, supervisor.status
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        selector.register(status, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _events in selector.select(TICK)}
            if output in ready and _read(output, collected) == 0:
                selector.unregister(output)
            if status in ready:
                words = os.read(status, 4096)
                lines_read += words
                if not words or b"ended" in lines_read:
                    break
            if time.monotonic() > control.give_up_at:
                supervisor.kill()
    lines = dict(_split(line) for line in lines_read.decode().splitlines())
    if "ended" not in lines:
        _kill_orphans(lines.get("started", []))
    for _ in range(LAST_READS):
        if not _read(output, collected):
            break
    return lines


def _split(line: str) -> tuple[str, list[str]]:
    word, *rest = line.split()
    return word, rest


def _read(output: int, collected: BoundedOutput) -> int | None:
    """Read available data; return the number of bytes, 0 at the end, None if there is nothing yet."""
    try:
        chunk = os.read(output, CHUNK)
    except BlockingIOError:
        return None
    collected.add(chunk)
    return len(chunk)


def _kill_orphans(started: list[str]) -> None:
    """Kill the group of a command whose supervisor was killed; what left the group is out of reach."""
    for pid in started:
        with contextlib.suppress(OSError):
            os.killpg(int(pid), signal.SIGKILL)


def _completed(status: dict[str, list[str]], collected: BoundedOutput) -> Completed:
    output, cut = plain_text(collected), collected.cut
    if "ended" not in status:
        return Completed(exit_code=None, output=output, cut=cut, lost=True)
    how, code, num_left = status["ended"]
    return Completed(
        exit_code=_exit_code(int(code)) if how == "exit" else None,
        output=output,
        timed_out=how == "timeout",
        interrupted=how in ("cancel", "parent", "lease"),
        cut=cut,
        num_left=int(num_left),
    )


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
