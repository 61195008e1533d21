"""The guard of a supervised command, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from workers.processes import PROCESS_GUARD

STARTER = """
import subprocess, sys, time
guard = [sys.executable, "-I", "-S", sys.argv[1], "0.1", "sh", "-c", "echo $$; exec sleep 600"]
guard = subprocess.Popen(guard, stdin=subprocess.PIPE)
copy = guard.stdin.fileno()
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
holder = subprocess.Popen(["sleep", "600"], pass_fds=[copy], **quiet)
print(holder.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_ends_with_its_starter_though_another_process_holds_their_pipe(number: int) -> None:
    """Given a starter whose end of the pipe to the guard lives on in a process that it has started."""
    command = [sys.executable, "-c", STARTER, str(PROCESS_GUARD)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        processes = [int(starter.stdout.readline()) for _ in ("the holder", "the command")]
        starter.send_signal(number)
        assert starter.stdout.read() == ""  # its end: the guard and the command have ended
    ended = [each for each in processes if not _runs(each)]
    assert len(ended) == 1
    (holder,) = set(processes) - set(ended)
    os.kill(holder, signal.SIGKILL)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
