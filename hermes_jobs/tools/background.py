"""The background processes of one home on this host, as files below `run/processes/`.

Each has a folder with `record.json` (written before the start) and the files of its keeper (`keeper.py`). Any
process of the home can read them, and request the keeper to end its command. They belong to the home, and
continue when a worker dies. Processes of a killed keeper are found by process id and start time, and by a
variable in their environment."""

from __future__ import annotations

import base64
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports import Cancel, ToolContext
from hermes_jobs.system import process_identity
from hermes_jobs.system.cpu_affinity import without_affinity
from hermes_jobs.system.ids import RandomIds
from hermes_jobs.text.last_reference import steps_back
from hermes_jobs.tools.folder_guard import Guard
from hermes_jobs.tools.guard_store import FOLDER, GuardStore
from hermes_jobs.tools.process_files import KeeperStatus, Lifetime, Output, ProcessFiles, ProcessRecord
from hermes_jobs.tools.processes import MAX_COMMAND_BYTES, SHELLS

KEEPER = Path(__file__).with_name("keeper.py")
MARK = "HERMES_JOBS_PROCESS"
MAX_RUNNING = 32
MAX_TYPED = 16_000  # bytes at once
RETENTION_SECONDS = 86_400.0  # seconds for which an ended one can be read
STARTING_SECONDS = 30.0  # seconds after which a record without a keeper means a killed start
STOP_SECONDS = 10.0
SETTLE_SECONDS = 0.3
PROCESS_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$"
POLL = 0.05

State = Literal["starting", "running", "ended", "lost"]


class BackgroundProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A background process and its state."""

    record: ProcessRecord
    status: KeeperStatus
    state: State

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in ("ended", "lost")

    def describe_state(self) -> str:
        """A short description of its state."""
        status = self.status
        if self.state == "running":
            return "running"
        if self.state == "starting":
            return "starting"
        if self.state == "lost":
            return "killed with its supervisor"
        if status.how == "not_begun":
            return "not started: its worker was stopped"
        return "stopped" if status.how == "stopped" else f"ended with exit code {status.code}"


class BackgroundProcesses:
    """Starts, lists, reads and ends them. Safe for several threads and processes."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self.files = ProcessFiles(folder)
        self.guards = GuardStore(folder.parent / FOLDER)
        self._folder = folder
        self._now = now
        self._keepers: list[int] = []

    # --- starting ---------------------------------------------------------------------------------

    def record(
        self, command: str, context: ToolContext, *, life: Lifetime, name: str, shown_command: str
    ) -> ProcessRecord:
        """The record of a call's command; `shown_command` is the model's text."""
        return ProcessRecord(
            id=RandomIds().name("p"),
            command=shown_command,
            runs="" if command == shown_command else command,
            session=context.lineage or context.session,
            turn=context.turn,
            call=context.call,
            workdir=context.workdir,
            life=life,
            started_at=self._now(),
            name=name,
        )

    def start(
        self,
        record: ProcessRecord,
        env: Mapping[str, str],
        cancel: Cancel,
        *,
        sandbox: str = "",
        afterwards: str = "",
        guard: Guard | None = None,
    ) -> BackgroundProcess:
        """Start the record's command; returns once it has started. `guard` is asked at its end, and before.

        Raises `Rejected` if too many run or the name is taken, `ValueError` for an impossible command line,
        `OSError`.
        """
        command = record.runs or record.command
        if "\0" in command or len(os.fsencode(command)) > MAX_COMMAND_BYTES:
            raise ValueError(
                f"a command must be under {MAX_COMMAND_BYTES:,} bytes and without NUL characters"
            )
        self._check(record)
        folder = self._folder / record.id
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        self.files.write_record(record)
        if guard is not None:
            self.guards.hold_for(record.id, guard)
        words = self._launch(folder, record, {**env, MARK: str(folder)}, cancel, (afterwards, sandbox))
        if not words.startswith(b"started"):
            self.guards.release(record.id)
            shutil.rmtree(folder, ignore_errors=True)
            raise Rejected("The process could not be started.", kind="not_started")
        return self.find(record.id)

    def _check(self, record: ProcessRecord) -> None:
        running = [process for process in self.all() if not process.is_over]
        if len(running) >= MAX_RUNNING:
            raise Rejected(
                f"{len(running)} background processes run already, and no more may.",
                kind="too_many",
                hint="End one first.",
            )
        same = next(
            (process for process in running if record.name and process.record.name == record.name), None
        )
        if same is not None:
            raise Rejected(
                f"{same.record.id} runs under the name {record.name!r} already: {same.record.command[:80]}",
                kind="name_taken",
            )

    def _launch(
        self,
        folder: Path,
        record: ProcessRecord,
        env: Mapping[str, str],
        cancel: Cancel,
        more: tuple[str, str],
    ) -> bytes:
        """Start the keeper; returns its message once the command has started."""
        lease = cancel.share_lease()
        shell = next((path for path in SHELLS if Path(path).exists()), SHELLS[-1])
        limits = [str(os.getpid()), str(-1 if lease is None else lease)]
        python = [sys.executable, "-I", "-S", str(KEEPER)]
        try:
            with without_affinity():
                process = subprocess.Popen(
                    [*python, str(folder), *limits, shell, record.runs or record.command, *more],
                    cwd=record.workdir,
                    env=dict(env),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    pass_fds=() if lease is None else (lease,),
                    start_new_session=True,
                )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            if lease is not None:
                os.close(lease)
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            words: bytes = process.stdout.readline()
        process.returncode = 0  # it lives longer than this object; `_reap` waits for it
        self._keepers.append(process.pid)
        return words

    def _reap(self) -> None:
        """Reap keepers of this process that have ended."""
        for pid in list(self._keepers):
            ended = pid
            with suppress(ChildProcessError):
                ended, _ = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._keepers.remove(pid)

    def settled(self, process: BackgroundProcess) -> BackgroundProcess:
        """The process after a short wait, in which a wrong command fails."""
        give_up = time.monotonic() + SETTLE_SECONDS
        while not process.is_over and time.monotonic() < give_up:
            time.sleep(POLL)
            process = self._load(process.record.id) or process
        return process

    # --- looking ----------------------------------------------------------------------------------

    def all(self) -> list[BackgroundProcess]:
        """All of them, oldest first; deletes those that ended long ago, and ends those without a keeper."""
        self._reap()
        processes = [process for process in map(self._load, self.files.ids()) if process is not None]
        remaining = [process for process in processes if not self._forgotten(process)]
        return sorted(remaining, key=lambda item: item.record.started_at)

    def check_guards(self, roots: Sequence[str] = ()) -> tuple[str, ...]:
        """Undo what processes that have ended have left, and what running ones have made in these folders:
        see `GuardStore.check`."""
        return self.guards.check(roots, self._is_over)

    def _is_over(self, name: str) -> bool:
        process = self._load(name)
        return process is None or process.is_over

    def running(self, *, session: str | None = None) -> list[BackgroundProcess]:
        """The running ones, of one session if given."""
        return [
            process
            for process in self.all()
            if not process.is_over and (session is None or process.record.session == session)
        ]

    def find(self, name: str) -> BackgroundProcess:
        """The process with that id or name; of several with one name the newest. `last` is the newest of all.

        Raises `Rejected` if there is none.
        """
        all_processes = self.all()
        back = steps_back(name)
        if back is not None and back < len(all_processes):
            return all_processes[-1 - back]
        processes = [process for process in all_processes if name in (process.record.id, process.record.name)]
        if not processes and name:
            processes = [process for process in all_processes if process.record.id.startswith(name)]
            processes = processes if len(processes) == 1 else []
        if not processes:
            host = os.uname().nodename
            raise Rejected(
                f"There is no background process {name!r} on this host ({host}).",
                kind="unknown",
                hint="See `hermes-jobs processes list`.",
            )
        return processes[-1]

    def output(self, process: BackgroundProcess, after: int | None, maximum: int) -> Output:
        """At most `maximum` bytes of its output: those after a position, or (None) the last ones."""
        return self.files.output(process.record.id, after, maximum)

    # --- acting -----------------------------------------------------------------------------------

    def type_text(self, process: BackgroundProcess, text: str, key: str, *, close: bool = False) -> None:
        """Write to its input, once for each key. Raises `Rejected` if it has ended or the text is too
        long."""
        data = text.encode(errors="replace")
        if len(data) > MAX_TYPED:
            raise Rejected(f"At most {MAX_TYPED:,} bytes can be typed at once.", kind="too_long")
        pieces = [
            data[start : start + 2_000] for start in range(0, len(data), 2_000)
        ]  # each is written as one
        lines = [
            f"type {key}:{number} {base64.b64encode(piece).decode()}" for number, piece in enumerate(pieces)
        ]
        if not self._ask(process, *lines, *["close"] * close):
            raise Rejected(f"{process.record.id} has ended.", kind="ended")

    def kill(self, process: BackgroundProcess, *, wait: bool = True) -> BackgroundProcess:
        """End it and its child processes: TERM, then KILL. Without `wait`, only send the request."""
        if not self._ask(process, "stop") or not wait:
            return self._load(process.record.id) or process
        give_up = time.monotonic() + STOP_SECONDS
        while time.monotonic() < give_up:
            now = self._load(process.record.id) or process
            if now.is_over:
                return now
            time.sleep(POLL)
        if process_identity.is_alive(process.status.keeper, process.status.since):
            with suppress(OSError):
                os.kill(process.status.keeper, signal.SIGKILL)
        time.sleep(POLL)
        return self._load(process.record.id) or process

    def kill_where(self, chosen: Callable[[ProcessRecord], bool], *, wait: bool) -> list[BackgroundProcess]:
        """End those with a matching record; returns their previous states."""
        processes = [process for process in self.running() if chosen(process.record)]
        for process in processes:
            self.kill(process, wait=False)
        return [self.kill(process) for process in processes] if wait else processes

    def forget(self, sessions: set[str]) -> None:
        """End the processes of these sessions, those with a name too, and delete their files."""
        for process in self.all():
            if process.record.session in sessions and (process.is_over or self.kill(process).is_over):
                shutil.rmtree(self._folder / process.record.id, ignore_errors=True)

    def _ask(self, process: BackgroundProcess, *lines: str) -> bool:
        """Send requests to the keeper; returns whether it exists."""
        try:
            control = os.open(self._folder / process.record.id / "control", os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT):
                return False
            raise
        try:
            for line in lines:
                os.write(control, f"{line}\n".encode())
        except OSError as error:
            raise Rejected(f"{process.record.id} does not accept input.", kind="busy") from error
        finally:
            os.close(control)
        return True

    # --- files ------------------------------------------------------------------------------------

    def _load(self, name: str) -> BackgroundProcess | None:
        record = self.files.record(name)
        if record is None:
            return None
        status = self.files.status(name)
        if status.state == "ended":
            self._release(name)
            return BackgroundProcess(record=record, status=status, state="ended")
        if status.keeper and process_identity.is_alive(status.keeper, status.since):
            return BackgroundProcess(record=record, status=status, state="running")
        if not status.keeper and self._now() - record.started_at < STARTING_SECONDS:
            return BackgroundProcess(record=record, status=status, state="starting")
        return self._lost(record)

    def _lost(self, record: ProcessRecord) -> BackgroundProcess:
        """Handle a keeper that was killed: end its processes, and record that."""
        status, folder = self.files.status(record.id), self._folder / record.id
        if status.state != "ended" and status.how != "lost":
            process_identity.kill(process_identity.marked(MARK, str(folder)))
            self._release(record.id)
            status = msgspec.structs.replace(status, how="lost", ended_at=self._now(), state="lost")
            with suppress(OSError):
                self.files.write_status(record.id, status)
        state: State = "ended" if status.state == "ended" else "lost"
        return BackgroundProcess(record=record, status=status, state=state)

    def _release(self, name: str) -> None:
        """Undo what an ended process must not leave, unless its keeper has."""
        self.files.write_undone(name, self.guards.release(name))

    def _forgotten(self, process: BackgroundProcess) -> bool:
        """Delete the files of one that ended long ago; returns whether it did."""
        ended = process.status.ended_at or process.record.started_at
        if not process.is_over or self._now() - ended < RETENTION_SECONDS:
            return False
        shutil.rmtree(self._folder / process.record.id, ignore_errors=True)
        return True
