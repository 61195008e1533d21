"""Runs one command in its own process and leaves nothing of it behind, whatever happens to either side.

Run as `python -I -S supervisor.py TIMEOUT PARENT SHELL COMMAND [AFTERWARDS]`; imports only what starts fast.

    stdin    from the worker: a byte asks to stop; its end means that the worker is gone
    stdout   to the worker: `started PID`, then `ended HOW STATUS LEFT`
    stderr   the command's output, both streams in the order in which they were written

The command leads a session of its own, without terminal and input. On Linux this process is the *subreaper*:
whatever loses its parent below it becomes its child (prctl(2)), so daemons that changed session are found
too, and having no child at all means that nothing is left. Elsewhere only the command's group is found.

Everything ends with the command: what it left running in the background may finish within `SETTLE` seconds,
is then asked to (TERM), and killed `GRACE` seconds later. Unless the command succeeded, the shell command
AFTERWARDS then ends what was begun elsewhere and is no process below this one, such as a container.
"""

# Each import costs milliseconds of every command: pathlib and contextlib are not worth theirs here.
# ruff: noqa: PTH123, PTH208, SIM105

import os
import select
import signal
import sys
import time
from collections.abc import Callable

SETTLE = 0.25  # for `>(…)` and the like, which end by themselves just after the shell
GRACE = 0.5  # between TERM and KILL
GIVE_UP = (
    5.0  # what cannot be killed for so long (another user's, or stuck in the kernel) is reported as left
)
AFTERWARDS_LIMIT = 10.0
PARENT_CHECK = 1.0  # the pipe tells at once; this is for a copy of its end that another process holds

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36


def main() -> None:
    """Run the command, say how it ended, and exit."""
    timeout, parent, shell, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    afterwards = sys.argv[5] if len(sys.argv) > 5 else ""
    prctl = _prctl()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, b"hermes-command")  # so that `pkill python` in a command does not hit its supervisor
    wakeup = _wake_on_children()
    child = _start(shell, command, prctl)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the output ends when the last process of the command does
    _say(f"started {child}")
    watch = Watch(child, wakeup)
    how = watch.until_over(time.monotonic() + timeout, parent)
    if how == "exit":
        watch.until_empty(SETTLE)
    watch.stop(signal.SIGTERM)
    watch.until_empty(GRACE)
    left = watch.kill()
    if afterwards and (how != "exit" or watch.status != 0):
        last = Watch(_start(shell, afterwards, prctl), wakeup)
        last.until_empty(AFTERWARDS_LIMIT)
        last.kill()
    _say(f"ended {how} {watch.status} {left}")


class Watch:
    """The command and all that descends from it."""

    def __init__(self, child: int, wakeup: int) -> None:
        self.child = child
        self.status = -1
        self.empty = False
        self._wakeup = wakeup

    def until_over(self, deadline: float, parent: int) -> str:
        """Wait; return `exit`, `timeout`, `cancel` or `parent`."""
        while True:
            self._reap()
            if self.status >= 0:
                return "exit"
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return "timeout"
            if os.getppid() != parent:
                return "parent"
            if 0 in self._wait(min(remaining, PARENT_CHECK), 0):
                return "cancel" if os.read(0, 1) else "parent"

    def until_empty(self, seconds: float) -> None:
        """Wait until nothing is left, at most so long."""
        deadline = time.monotonic() + seconds
        self._reap()
        while not self.empty and (remaining := deadline - time.monotonic()) > 0:
            self._wait(remaining)
            self._reap()

    def kill(self) -> int:
        """Kill until nothing is left; return how many could not be."""
        deadline = time.monotonic() + GIVE_UP
        pause = 0.001
        while not self.empty and time.monotonic() < deadline:
            # Stopped first, so that what forks faster than it is found cannot go on forking.
            self.stop(signal.SIGSTOP)
            self.stop(signal.SIGKILL)
            self.until_empty(pause)
            pause = min(pause * 2, 0.1)
        return 0 if self.empty else len(_descendants())

    def stop(self, number: int) -> None:
        """Send a signal to everything that is left."""
        if self.empty:
            return
        found = _descendants()
        # By group first: that reaches all members at once, also a chain of processes of which each forks and
        # ends before it is looked at. The groups are of the command's own sessions, never this process's.
        groups = {group for _pid, group in found if group > 1}
        if self.status < 0:  # not yet reaped, so that the number is still the command's
            groups.add(self.child)
        for group in groups - {os.getpgrp()}:
            _signal(os.killpg, group, number)
        for pid, _group in found:
            _signal(os.kill, pid, number)

    def _wait(self, seconds: float, *others: int) -> list[int]:
        ready = select.select([self._wakeup, *others], [], [], seconds)[0]
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        return ready

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.empty = True
                return
            if pid == 0:
                return
            if pid == self.child:
                self.status = status


def _prctl() -> Callable[[int, int | bytes], int]:
    """prctl(2), or on other systems something that does nothing."""
    if sys.platform != "linux":
        return lambda _option, _value: 0
    import ctypes

    function = ctypes.CDLL(None).prctl
    return lambda option, value: function(
        ctypes.c_int(option), ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    )


def _wake_on_children() -> int:
    """A file descriptor that can be read when a child may have ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # Handlers, not SIG_IGN: a handler is reset by exec, an ignored signal would stay ignored in the command.
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    return reader


def _start(shell: str, command: str, prctl: Callable[[int, int | bytes], int]) -> int:
    """Fork the shell that runs the command; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        os.execv(shell, [shell, "-c", command])
    except OSError as error:
        os.write(2, f"{shell}: {error.strerror}\n".encode())
    finally:
        os._exit(126)


def _say(line: str) -> None:
    try:
        os.write(1, line.encode() + b"\n")
    except OSError:
        pass  # the worker is gone: there is nobody to tell


def _signal(send: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        send(target, number)
    except OSError:
        pass  # it has ended, or belongs to another user


def _descendants() -> list[tuple[int, int]]:
    """Every living process below this one with its process group; on systems without /proc none."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    children: dict[int, list[tuple[int, int]]] = {}
    for name in names:
        if name.isdigit():
            parent, group = _parent_and_group(name)
            children.setdefault(parent, []).append((int(name), group))
    found = children.get(os.getpid(), [])
    for pid, _group in found:
        found.extend(children.get(pid, ()))
    return found


def _parent_and_group(pid: str) -> tuple[int, int]:
    """Of a process; -1 when it has ended or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in parentheses may hold anything, spaces and parentheses too.
            state, parent, group = file.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return -1, -1
    return (-1, -1) if state in b"ZX" else (int(parent), int(group))


if __name__ == "__main__":
    main()
