"""Runs one command and ends it when its starter has ended in any way, `kill -9` included.

Run as `python -I -S process_guard.py GRACE COMMAND…`; imports only what starts fast.

    stdin          from the supervisor, which never writes: its end means stop, be it closed or killed
    SIGTERM, INT   stop; a second one: at once
    exit           with the command's status, 128 + n where signal n ended it

To stop is to send TERM, and KILL after GRACE seconds, to the command's process group. Where the guard
itself is killed, Linux sends the command TERM (prctl(2), PR_SET_PDEATHSIG). The command finds the guard's
process id and GRACE in the variable PROCESS_GUARD: see `guarded_process`.
"""

import os
import select
import signal
import sys
import time

VARIABLE = "PROCESS_GUARD"
PR_SET_PDEATHSIG = 1
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PARENT_CHECK = 1.0  # seconds, where the kernel does not tell when a process has ended


def main() -> None:
    """Run the command until it ends or must end, and exit as it did."""
    grace, command, parent = float(sys.argv[1]), sys.argv[2:], os.getppid()
    wakeup = _wake_on_signals()
    child = _start(command, os.getpid())
    sys.exit(_watch(child, wakeup, grace, parent))


def _watch(child: int, wakeup: int, grace: float, parent: int) -> int:
    stops, kill_at = 0, float("inf")
    # The pipe closes at once; the starter's own end is for a copy of it that another process holds.
    starter = _end_of(parent)
    starts = {0} if starter is None else {0, starter}
    check = PARENT_CHECK if starter is None else float("inf")
    listening = {wakeup, *starts}
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _send(child, signal.SIGKILL)  # what it left running in its group
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        rest = max(0.0, min(check, kill_at - time.monotonic()))
        ready = set(select.select(listening, [], [], None if rest == float("inf") else rest)[0])
        num_checks = 0
        if wakeup in ready:
            num_checks = sum(number in STOPPING for number in os.read(wakeup, 4096))
        if 0 in listening and (starts & ready or os.getppid() != parent):
            listening -= starts
            num_checks += stops == 0
        stops += num_checks
        if num_checks and stops == num_checks:
            _send(child, signal.SIGTERM)
            kill_at = time.monotonic() + grace
        if stops > 1 or time.monotonic() >= kill_at:
            _send(child, signal.SIGKILL)
            kill_at = float("inf")


def _end_of(process: int) -> int | None:
    """A file descriptor that can be read when the process has ended (pidfd_open(2)), where there are such."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


def _wake_on_signals() -> int:
    """A file descriptor from which the numbers of the signals that came can be read."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # Handlers, not SIG_IGN: a handler is reset by exec, an ignored signal would stay ignored in the command.
    for number in (signal.SIGCHLD, *STOPPING):
        signal.signal(number, lambda _number, _frame: None)
    return reader


def _start(command: list[str], guard: int) -> int:
    """Fork the command as leader of its own process group; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        _end_with_parent()
        if os.getppid() != guard:
            os._exit(126)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ[VARIABLE] = f"{guard} {sys.argv[1]}"
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(126)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))


def _send(child: int, number: int) -> None:
    """To the command's group, and to the command alone in the moment before it leads that group."""
    for send in (os.killpg, os.kill):
        try:
            send(child, number)
        except OSError:
            continue  # the group does not exist yet, or has ended
        return


if __name__ == "__main__":
    main()
