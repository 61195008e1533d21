"""Guards on disk, below `run/guards/` of the home: what a killed worker leaves is undone by the next one.

The name of a file says which process it is for: a worker (`w-PID-SINCE-NUMBER`), which deletes it when its
command has ended, or a background process (`p-ID`), whose keeper does.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hermes_jobs.system import process_identity
from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.folder_guard import Guard
from hermes_jobs.tools.made_folders import STAYS

FOLDER = "guards"
ENDING_SECONDS = 10.0
UNDONE = "undone"  # of a background process: the paths, one a line


class GuardStore:
    """Holds guards while commands run. Safe for several threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, guard: Guard) -> Iterator[None]:
        """Keep it on disk for the time of a block, so that a worker that is killed in it leaves it."""
        file = self._own()
        self._write(file, guard)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)

    def hold_for(self, process: str, guard: Guard) -> None:
        """Keep it until `release`."""
        self._write(self._folder / f"p-{process}", guard)

    def release(self, process: str) -> tuple[str, ...]:
        """Undo what a background process has left, which has ended; returns the paths concerned."""
        return self._restore_and_remove(self._folder / f"p-{process}")

    def look_at(self, process: str) -> tuple[str, ...]:
        """Undo what a background process that still runs has made; returns the paths concerned."""
        guard = _read(self._folder / f"p-{process}")
        return _restored(guard) if guard is not None else ()

    def check(self, roots: Sequence[str], is_over: Callable[[str], bool]) -> tuple[str, ...]:
        """Undo what processes have left that have ended, anywhere, and what those that still run have made
        in these folders; returns the paths concerned. `is_over` is for ids of background processes."""
        undone: list[str] = []
        for file in self._files():
            kind, _, rest = file.name.partition("-")
            pid, _, since = rest.partition("-")
            if kind == "p":
                if is_over(rest):
                    undone += self._restore_and_remove(file)
                elif (guard := _read(file)) and guard.overlaps(roots):
                    undone += _restored(guard)
            elif not process_identity.is_alive(int(pid), since.rpartition("-")[0]):
                undone += self._restore_and_remove(file)
        return tuple(dict.fromkeys(undone))

    def _files(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if re.match(r"p-.|w-\d+-", path.name)]
        except FileNotFoundError:
            return []

    def _own(self) -> Path:
        pid = os.getpid()
        return self._folder / f"w-{pid}-{process_identity.begun(pid)}-{time.monotonic_ns()}"

    def _write(self, file: Path, guard: Guard) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file.with_name(f".{file.name}"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(msgspec.json.encode(guard))
        file.with_name(f".{file.name}").rename(file)

    def _restore_and_remove(self, file: Path) -> tuple[str, ...]:
        """Taken over under an own name first: so it is done once, and again only if this process dies."""
        taken = self._own()
        with suppress(FileNotFoundError):
            file.stat()
            file.rename(taken)
            guard = _read(taken)
            _end(guard.afterwards if guard is not None else ())
            undone = guard.restore() if guard is not None else ()
            taken.unlink(missing_ok=True)
            return undone
        return ()


def _restored(guard: Guard) -> tuple[str, ...]:
    """The paths that are undone while the process runs. What stays is reported once, when it has ended."""
    return tuple(path for path in guard.restore() if not path.startswith(STAYS))


def _end(words: Sequence[str]) -> None:
    """End what is left of the command: it must not write on after its changes were undone."""
    if words:
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=ENDING_SECONDS, check=False
            )


def _read(file: Path) -> Guard | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=described(Guard))
    except (OSError, msgspec.DecodeError):
        return None
