"""`up -d` and `down`: start a supervisor in the background, and stop it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_jobs.errors import Rejected
from hermes_jobs.runtime.up_state import UpState, already_up, is_running, read_state
from hermes_jobs.settings import Paths, Settings
from hermes_jobs.system.isolation import isolated, python_module
from workers.processes import rotate_log

START_SECONDS = 60.0
POLL_SECONDS = 0.05
LINES_SHOWN = 12
KINDS = {2: "usage", 5: "broker"}
"""The errors of the supervisor's exit codes, so that `up -d` ends like `up`."""


def start_in_background(paths: Paths, arguments: Sequence[str], environ: Mapping[str, str]) -> UpState:
    """Start `hermes-jobs up` with these arguments in its own session, and wait until all processes are ready.

    Raises `Rejected` with its output if that fails.
    """
    if is_running(paths):
        raise already_up(read_state(paths))
    log = paths.logs / "up.log"
    rotate_log(log)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    log_size = os.fstat(file).st_size
    try:
        process = subprocess.Popen(
            [*python_module("hermes_jobs"), "up", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=isolated(environ),
            start_new_session=True,
        )
    finally:
        os.close(file)
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        state = read_state(paths)
        if state is not None and state.ready and state.pid == process.pid:
            return state
        time.sleep(POLL_SECONDS)
    if process.poll() is None:
        process.terminate()
    kind = KINDS.get(process.poll() or 0, "rejected")
    raise Rejected(
        f"It did not come up.\n{_since(log, log_size)}".rstrip(), kind=kind, hint=f"See {log.parent}."
    )


def stop(settings: Settings) -> int | None:
    """Stop the home's `up` and wait for its end; returns its process id, None if none was running.

    Raises `Rejected` if it does not end.
    """
    from workers.up import BEAT_GRACE, FLOWER_GRACE, STOP_MARGIN

    paths = settings.paths
    patience = settings.workers.stop_seconds + STOP_MARGIN + BEAT_GRACE + 2 * FLOWER_GRACE
    until = time.monotonic() + patience
    state = asked_pid = None
    while is_running(paths):
        state = read_state(paths)
        # Read while the lock is held: the process id cannot have been reused.
        if state is not None and asked_pid is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(state.pid, signal.SIGTERM)
            asked_pid = state.pid
        if time.monotonic() >= until:
            pid = f" (process {asked_pid})" if asked_pid else ""
            raise Rejected(f"It has not ended within {patience:g} s{pid}.", hint=f"See {paths.logs}.")
        time.sleep(POLL_SECONDS)
    return asked_pid


def _since(log: Path, log_size: int) -> str:
    """The last lines that were written to the log after that byte."""
    with log.open("rb") as file:
        file.seek(log_size)
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-LINES_SHOWN:])
