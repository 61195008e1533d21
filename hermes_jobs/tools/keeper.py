"""Keeper of one background process: runs it, stores its output, and ends it on request.

Run as `python -I -S keeper.py FOLDER PARENT LEASE SHELL COMMAND AFTERWARDS SANDBOX`. It continues after its
worker; the command and its descendants end with the keeper, and the keeper with them.

    stdin      from the worker: its end before the command has started means that it must not start
    stdout     to the worker: `started PID`, or `refused WHY`
    FOLDER/    status.json   its state
               output.N      its output from byte N on; the oldest part is deleted when there is too much
               control       a pipe for requests, a line each: `stop`, `close`, `type KEY BASE64`

`type` writes to the command's input, once for each key; `close` ends that input. A keeper that is killed
ends its command too (prctl(2)), but not the command's children: `background` finds those.
"""

# Each import costs milliseconds of every command: pathlib and contextlib are not worth theirs here.
# ruff: noqa: PTH100, PTH108, PTH110, PTH118, PTH120, SIM105

import base64
import json
import os
import select
import signal
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hermes_jobs.system import process_identity
from hermes_jobs.tools import supervisor
from hermes_jobs.tools.guard_ticks import GuardTicks

GUARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guard_at_end.py")
PART = 1 << 20  # bytes of one file of output
PARTS = 4
MAX_UNREAD = 1 << 20  # typed bytes that were not read yet
CHUNK = 1 << 16
TICK = 5.0
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    """Run the command until it and all that it started has ended."""
    folder, parent, lease, shell, command, afterwards, sandbox = sys.argv[1:8]
    worker = supervisor.Worker(int(parent), int(lease))
    prctl = supervisor.prctl_function()
    prctl(supervisor.PR_SET_CHILD_SUBREAPER, 1)
    prctl(supervisor.PR_SET_NAME, b"hermes-command")
    wakeup = supervisor.wake_on_children()
    control = _control(folder)
    output, errors = os.pipe()
    input_end, typed = os.pipe()
    os.dup2(errors, 2)
    os.close(errors)
    started, beginning = os.pipe()
    child = supervisor.start_command(shell, command, prctl, worker, sandbox, input_end)
    os.close(input_end)
    os.close(beginning)
    os.read(started, 1)  # until the child, which checks stdin first, has executed the command
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 2)
    keeper = Keeper(folder, supervisor.Watch(child, wakeup), (output, typed, control))
    keeper.write_status(state="running")
    os.write(1, f"started {child}\n".encode())
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    if int(lease) >= 0:
        os.close(int(lease))  # the worker's lock must end with the worker
    keeper.run()
    if afterwards and keeper.how != "exit":
        last = supervisor.Watch(supervisor.start_command(shell, afterwards, prctl, None), wakeup)
        last.until_empty(supervisor.AFTERWARDS_LIMIT)
        last.kill()
    os.unlink(os.path.join(folder, "control"))
    keeper.end()
    if os.path.exists(keeper.ticks.file):
        _ask_guard(folder)


def _ask_guard(folder: str, *words: str) -> None:
    """Have undone what the command must not leave: see `guard_at_end`, which needs more modules."""
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-I", GUARD, folder, *words], os.environ), 0)


class Keeper:
    """The command, its output, its input, and requests about it."""

    def __init__(self, folder: str, watch: supervisor.Watch, ends: tuple[int, int, int]) -> None:
        """`ends`: the descriptors of the output, the input and the requests."""
        self.how = "exit"
        self._folder = folder
        self._watch = watch
        self._output, self._typed, self._control = ends
        for descriptor in ends:
            os.set_blocking(descriptor, False)
        self.ticks = GuardTicks(folder)
        self._store = OutputParts(folder)
        self._reading = True
        self._pending = b""
        self._closing = False
        self._requests = b""
        self._known: set[str] = set()
        self._kill_at = float("inf")
        self._num_left = 0
        self._since = process_identity.begun(os.getpid())

    def run(self) -> None:
        """Serve until all processes of the command have ended."""
        while True:
            self._watch.reap()
            if self._watch.empty:
                break
            if time.monotonic() >= self._kill_at:
                self._num_left = self._watch.kill()
                break
            self._serve()
            if self.ticks.are_due():
                _ask_guard(self._folder, "meanwhile")
        self._read()

    def end(self) -> None:
        """Record how it ended."""
        status = self._watch.status
        code = None
        if status == supervisor.NOT_STARTED_CODE << 8:
            self.how = "not_begun"
        elif self.how == "exit" and status >= 0:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code
        self.write_status(state="ended", code=code, ended_at=time.time(), left=self._num_left)

    def write_status(self, **more: object) -> None:
        """Write the status file."""
        record = {
            "keeper": os.getpid(),
            "since": self._since,
            "pid": self._watch.child,
            "how": self.how,
            **more,
        }
        temporary = os.path.join(self._folder, "status.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, json.dumps(record).encode())
        os.close(descriptor)
        os.rename(temporary, os.path.join(self._folder, "status.json"))  # noqa: PTH104

    def _serve(self) -> None:
        reads = [self._watch.wakeup, self._control, *([self._output] if self._reading else [])]
        writes = [self._typed] if self._pending else []
        seconds = max(0.0, min(TICK, self._kill_at - time.monotonic()))
        ready, writable, _ = select.select(reads, writes, [], seconds)
        if self._watch.wakeup in ready and any(
            number in STOPPING for number in os.read(self._watch.wakeup, 4096)
        ):
            self._stop()
        if self._output in ready:
            self._read()
        if self._control in ready:
            self._read_requests()
        if writable:
            self._write()

    def _read(self) -> None:
        """Store the available output."""
        for _ in range(PARTS * PART // CHUNK):
            try:
                chunk = os.read(self._output, CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                self._reading = False
                return
            self._store.add(chunk)

    def _read_requests(self) -> None:
        try:
            self._requests += os.read(self._control, CHUNK)
        except BlockingIOError:
            return
        *lines, self._requests = self._requests.split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").split()
            if words[:1] == ["stop"]:
                self._stop()
            elif words[:1] == ["close"]:
                self._closing = True
                self._write()
            elif words[:1] == ["type"] and len(words) == 3 and words[1] not in self._known:
                self._known.add(words[1])
                self._pending = (self._pending + base64.b64decode(words[2]))[-MAX_UNREAD:]
                self._write()

    def _write(self) -> None:
        """Write typed text to the command, as far as it reads."""
        if self._typed < 0:
            return
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._typed, self._pending) :]
        except BlockingIOError:
            return
        except OSError:  # it has closed its input
            self._pending, self._closing = b"", True
        if self._closing:
            os.close(self._typed)
            self._typed = -1

    def _stop(self) -> None:
        if self._kill_at == float("inf"):
            self.how = "stopped"
            self._watch.stop(signal.SIGTERM)
            self._kill_at = time.monotonic() + supervisor.GRACE * 4


class OutputParts:
    """The newest output, in files named by their first byte."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._parts: list[int] = []
        self._end = 0
        self._file = -1
        self._open()

    def add(self, chunk: bytes) -> None:
        """Append the chunk; delete the oldest part if there are too many."""
        if self._end - self._parts[-1] + len(chunk) > PART:
            os.close(self._file)
            self._open()
        try:
            os.write(self._file, chunk)
        except OSError:
            pass  # the disk is full: the command continues
        self._end += len(chunk)

    def _open(self) -> None:
        self._parts.append(self._end)
        self._file = os.open(self._path(self._end), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        while len(self._parts) > PARTS:
            os.unlink(self._path(self._parts.pop(0)))

    def _path(self, start: int) -> str:
        return os.path.join(self._folder, f"output.{start}")


def _control(folder: str) -> int:
    """The pipe for requests. Opened for both ends, so that it never ends."""
    path = os.path.join(folder, "control")
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR)


if __name__ == "__main__":
    main()
