"""The files of background processes, below `run/processes/`: a folder for each of them.

record.json    what was started; written before it begins
status.json    its state, as its keeper reports it
output.START   its output, in parts named by their first byte; the keeper deletes the oldest
control        the pipe on which the keeper takes requests
undone         files that it made and that were taken away: paths, one a line
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described

Lifetime = Literal["session", "turn", "named"]


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was started, for whom, and when (seconds since the epoch). `life`: what it ends with; `named` ones
    continue until a user ends them, or the home is shut down.

    `command` is what the user reads, `runs` what the shell does; empty: the same.
    """

    id: str
    command: str
    runs: str = ""
    session: str
    turn: str
    call: str
    workdir: str
    life: Lifetime
    started_at: float
    name: str = ""


class KeeperStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a command, reported by its keeper; see `keeper.py`. `since`: the start of the keeper."""

    keeper: int = 0
    pid: int = 0
    how: str = ""
    state: str = "starting"
    code: int | None = None
    ended_at: float | None = None
    left: int = 0
    since: str = ""


class Output(msgspec.Struct, frozen=True):
    """Bytes of an output from `start` to `end`; `begins` is the first byte that is still stored."""

    data: bytes
    start: int
    end: int
    begins: int


class ProcessFiles:
    """Reads and writes them, for any process of the home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ids(self) -> list[str]:
        """The ids of all processes that have a folder."""
        with suppress(FileNotFoundError):
            return [path.name for path in self.folder.iterdir() if path.is_dir()]
        return []

    def record(self, name: str) -> ProcessRecord | None:
        """The record with that id; None if it is missing or unreadable."""
        try:
            return msgspec.json.decode(
                (self.folder / name / "record.json").read_bytes(), type=described(ProcessRecord)
            )
        except (OSError, msgspec.DecodeError):
            return None

    def write_record(self, record: ProcessRecord) -> None:
        """Write it. Raises `OSError`."""
        path = self.folder / record.id / "record.json"
        write_bytes(path, msgspec.json.encode(record), durable=False)

    def status(self, name: str) -> KeeperStatus:
        """Its state; `starting` before its keeper's first report."""
        try:
            return msgspec.json.decode(
                (self.folder / name / "status.json").read_bytes(), type=described(KeeperStatus)
            )
        except (OSError, msgspec.DecodeError):
            return KeeperStatus()

    def write_status(self, name: str, status: KeeperStatus) -> None:
        """Write it in place of a keeper that has ended. Raises `OSError`."""
        write_bytes(self.folder / name / "status.json", msgspec.json.encode(status), durable=False)

    def undone(self, name: str) -> tuple[str, ...]:
        """The paths of files that were taken away after its end."""
        return tuple(_content(self.folder / name / "undone").decode("utf-8", "replace").splitlines())

    def write_undone(self, name: str, paths: Sequence[str]) -> None:
        """Add to them."""
        if paths:
            with (self.folder / name / "undone").open("ab") as file:
                file.writelines(os.fsencode(f"{path}\n") for path in paths)

    def output(self, name: str, after: int | None, maximum: int) -> Output:
        """At most `maximum` bytes of an output: those after a position, or (None) the last ones."""
        parts = self.parts(name)
        if not parts:
            return Output(b"", 0, 0, 0)
        last = max(parts)
        end = last + _size(parts[last])
        start = max(min(parts), end - maximum if after is None else after)
        stop = min(end, start + maximum)
        data = b""
        for first, path in parts.items():
            if first < stop:
                with suppress(FileNotFoundError), path.open("rb") as file:
                    file.seek(max(0, start - first))
                    data += file.read(stop - max(start, first)) if start < first + _size(path) else b""
        return Output(data, start, start + len(data), min(parts))

    def parts(self, name: str) -> dict[int, Path]:
        """The files of an output, in order, by their first byte."""
        files = {int(path.name.partition(".")[2]): path for path in (self.folder / name).glob("output.*")}
        return dict(sorted(files.items()))

    def texts(self, name: str) -> str:
        """The stored texts of a process: its command and its output."""
        record = self.record(name)
        commands = "" if record is None else f"{record.command}\n{record.runs}\n{record.name}\n"
        data = b"".join(_content(path) for path in self.parts(name).values())
        return commands + data.decode("utf-8", "replace")

    def rewrite(self, name: str, text: Callable[[str], str]) -> None:
        """Replace the stored command by the result of `text`; running processes are not affected. Raises
        `OSError`."""
        record = self.record(name)
        if record is not None:
            command, runs, process_name = map(text, (record.command, record.runs, record.name))
            after = msgspec.structs.replace(record, command=command, runs=runs, name=process_name)
            if after != record:
                self.write_record(after)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
