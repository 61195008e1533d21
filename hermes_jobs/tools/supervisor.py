"""Supervisor of one command: runs it, limits it, and kills every process it started, whatever happens.

Run as `python -I -S supervisor.py TIMEOUT PARENT LEASE SHELL COMMAND AFTERWARDS SANDBOX`; imports only
modules that load fast.

    stdin    from the worker: a byte asks to stop; its end means that the worker has ended
    LEASE    a descriptor of the worker's lock file, with the end of its lease
             (`eventlog/liveness_locks.py` writes it); -1 for no limit
    stdout   to the worker: `started PID`, then `ended HOW STATUS LEFT`
    stderr   the command's output, both streams in the order in which they were written

The command leads a session of its own, without terminal and input. On Linux this process is the *subreaper*:
orphans below it become its children (prctl(2)), so daemons that changed session are found too, and
without children nothing is left. On other systems only the command's group is found.

All processes end with the command: its background processes may finish within `SETTLE_SECONDS`, then get
TERM, and KILL `GRACE` seconds later. If the worker has ended, or its lease has expired, they are killed at
once: another worker may continue with the step. The lease is checked just before the command is executed, and
then while it runs. The lock, which marks the worker as alive for others of this host, is held until no
process is left. Unless the command succeeded, the shell command AFTERWARDS then ends resources that are not
processes below this one, such as a container.

Unless SANDBOX is empty, the command runs in the sandbox that it describes (see `sandbox_layer`), or not at
all.
"""

# Each import costs milliseconds of every command: pathlib and contextlib are not worth theirs here.
# ruff: noqa: PTH100, PTH109, PTH120, PTH123, PTH208, SIM105

import os
import select
import signal
import sys
import time
from collections.abc import Callable

SETTLE_SECONDS = 0.25  # for `>(…)` and the like, which end by themselves just after the shell
GRACE = 0.5  # between TERM and KILL
GIVE_UP = 5.0  # a process that cannot be killed for so long (other user, stuck in the kernel) is reported
AFTERWARDS_LIMIT = 10.0
PARENT_CHECK = 1.0  # the pipe closes immediately; this is for a copy of its end in another process

NOT_STARTED_CODE = 125  # the exit code of a shell that was not started
KILLED_AT_ONCE = ("parent", "lease")

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36


def main(arguments: list[str], worker_process: int = -1) -> None:
    """Run the command, report how it ended, and exit. `worker_process`: a pidfd of the worker, if that is not
    the parent."""
    timeout, pid, lease, shell, command, afterwards, sandbox = arguments
    worker = Worker(int(pid), int(lease), worker_process)
    prctl = prctl_function()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, b"hermes-command")  # so that `pkill python` in a command does not hit its supervisor
    wakeup = wake_on_children()
    child = start_command(shell, command, prctl, worker, sandbox)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the output ends when the last process of the command does
    _say(f"started {child}")
    watch = Watch(child, wakeup)
    how = watch.until_over(time.monotonic() + float(timeout), worker)
    if how == "exit":
        watch.until_empty(SETTLE_SECONDS)
    if how not in KILLED_AT_ONCE:
        watch.stop(signal.SIGTERM)
        watch.until_empty(GRACE)
    num_left = watch.kill()
    if afterwards and (how != "exit" or watch.status != 0):
        last = Watch(start_command(shell, afterwards, prctl, None), wakeup)
        last.until_empty(AFTERWARDS_LIMIT)
        last.kill()
    _say(f"ended {how} {watch.status} {num_left}")


class Worker:
    """The worker that runs the command: its process id, the descriptor with the end of its lease, and a pidfd
    where it is not the parent (else -1)."""

    def __init__(self, pid: int, lease: int, process: int = -1) -> None:
        self._pid = pid
        self._process = process
        self._lease = lease
        self.may_be_late = False
        if lease >= 0:
            os.set_inheritable(lease, False)  # the command must neither keep the lock nor see the file

    def is_gone(self) -> bool:
        """Whether its process has ended."""
        if self._process < 0:
            return os.getppid() != self._pid
        return bool(select.select([self._process], [], [], 0)[0])

    def seconds_left(self) -> float:
        """Seconds until its lease ends; 0 or less: it has ended."""
        if self._lease < 0:
            return float("inf")
        try:
            until, rule = os.pread(self._lease, 64, 0).split()[:2]
            self.may_be_late = rule == b"lock" and float(until) > 0
            return float(until) - moment()
        except (OSError, ValueError):
            return 0.0

    def seconds_to_next_check(self) -> float:
        """Seconds until its lease ends or has to be checked again; 0 or less: it has ended.

        A worker that runs may be late for want of CPU, where nobody takes its steps. One that is stopped may
        not.
        """
        seconds = self.seconds_left()
        if seconds <= 0 and self.may_be_late and runs(self._pid):
            return PARENT_CHECK
        return seconds


class Watch:
    """The command and its descendants."""

    def __init__(self, child: int, wakeup: int) -> None:
        self.child = child
        self.status = -1
        self.empty = False
        self.wakeup = wakeup

    def until_over(self, deadline: float, worker: Worker) -> str:
        """Wait; return `exit`, `timeout`, `cancel`, `parent` or `lease`."""
        while True:
            self.reap()
            if self.status == NOT_STARTED_CODE << 8 and (how := reason_not_to_start(worker)):
                return how
            if self.status >= 0:
                return "exit"
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return "timeout"
            if worker.is_gone():
                return "parent"
            if (leased := worker.seconds_to_next_check()) <= 0:
                return "lease"
            if 0 in self._wait(min(remaining, PARENT_CHECK, leased), 0):
                return "cancel" if os.read(0, 1) else "parent"

    def until_empty(self, seconds: float) -> None:
        """Wait until no process is left, at most so long."""
        deadline = time.monotonic() + seconds
        self.reap()
        while not self.empty and (remaining := deadline - time.monotonic()) > 0:
            self._wait(remaining)
            self.reap()

    def kill(self) -> int:
        """Kill until no process is left; return the number that could not be killed."""
        deadline = time.monotonic() + GIVE_UP
        pause = 0.001
        while not self.empty and time.monotonic() < deadline:
            # Stopped first, so that fast forking processes cannot continue forking.
            self.stop(signal.SIGSTOP)
            self.stop(signal.SIGKILL)
            self.until_empty(pause)
            pause = min(pause * 2, 0.1)
        return 0 if self.empty else len(_descendants())

    def stop(self, number: int) -> None:
        """Send a signal to all remaining processes."""
        if self.empty:
            return
        descendants = _descendants()
        # By group first: that reaches all members at once, also a chain of processes of which each forks and
        # ends before it is looked at. The groups are of the command's own sessions, never this process's.
        groups = {group for _pid, group in descendants if group > 1}
        if self.status < 0:  # not yet reaped, so that the number is still the command's
            groups.add(self.child)
        for group in groups - {os.getpgrp()}:
            _signal(os.killpg, group, number)
        for pid, _group in descendants:
            _signal(os.kill, pid, number)

    def _wait(self, seconds: float, *others: int) -> list[int]:
        ready = select.select([self.wakeup, *others], [], [], seconds)[0]
        if self.wakeup in ready:
            os.read(self.wakeup, 4096)
        return ready

    def reap(self) -> None:
        """Reap ended processes."""
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


def prctl_function() -> Callable[[int, int | bytes], int]:
    """prctl(2), or on other systems a function without effect."""
    if sys.platform != "linux":
        return lambda _option, _value: 0
    import ctypes

    function = ctypes.CDLL(None).prctl
    return lambda option, value: function(
        ctypes.c_int(option), ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    )


def wake_on_children() -> int:
    """A file descriptor that can be read when a child may have ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # Handlers, not SIG_IGN: a handler is reset by exec, an ignored signal would stay ignored in the command.
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    return reader


def reason_not_to_start(worker: Worker) -> str:
    """Why the command must not begin, as in `until_over`; empty if it may."""
    if select.select([0], [], [], 0)[0]:
        return "parent" if worker.is_gone() else "cancel"
    return "" if worker.seconds_left() > 0 else "lease"


def moment() -> float:
    """The clock of the file: see `hermes_jobs.kernel.log.liveness_locks.moment`."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def runs(pid: int) -> bool:
    """Whether a process is neither stopped nor ended; without /proc it counts as stopped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in b"TtZX"
    except (OSError, IndexError):
        return False


def start_command(
    shell: str,
    command: str,
    prctl: Callable[[int, int | bytes], int],
    worker: Worker | None,
    sandbox: str = "",
    stdin: int | None = None,
) -> int:
    """Fork the shell that runs the command, unless its worker stopped; return the process id.

    Its output goes to descriptor 2. `stdin` None: it has no input.
    """
    enter_sandbox = _sandbox(sandbox)
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        enter_sandbox()
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))  # after the sandbox: new capabilities would undo it
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if worker is not None and reason_not_to_start(worker):
            os._exit(NOT_STARTED_CODE)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        os.dup2(2, 1)
        os.execv(shell, [shell, "-c", command])
    except OSError as error:
        os.write(2, f"{shell}: {error.strerror}\n".encode())
    finally:
        os._exit(126)


def folder_above(path: str, levels: int) -> str:
    """The folder that many levels above; pathlib would take this process longer to import than to run."""
    for _ in range(levels):
        path = os.path.dirname(path)
    return path


def _sandbox(plan: str) -> Callable[[], None]:
    """A function that puts a process into the sandbox, or ends the process if that fails."""
    if not plan:
        return lambda: None
    sys.path.append(folder_above(os.path.abspath(__file__), 3))
    from hermes_jobs.tools import sandbox_layer, sandbox_plan

    def enter() -> None:
        try:
            sandbox_layer.enter(sandbox_plan.decode(plan))
            os.chdir(os.getcwd())  # the folder as it is in the sandbox
        except (sandbox_plan.SandboxFailed, OSError) as error:
            os.write(2, f"The sandbox could not be set up ({error}). Nothing was run.\n".encode())
            os._exit(126)

    return enter


def _say(line: str) -> None:
    try:
        os.write(1, line.encode() + b"\n")
    except OSError:
        pass  # the worker has ended


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
    descendants = children.get(os.getpid(), [])
    for pid, _group in descendants:
        descendants.extend(children.get(pid, ()))
    return descendants


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
    main(sys.argv[1:])
