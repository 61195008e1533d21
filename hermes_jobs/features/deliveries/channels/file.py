"""`file:PATH`: appends answers to a text file, each once, between two lines with the delivery's id.

Before a write the file is searched for the record's last line: a record written by a process that died before
it could append the event is not written again; a record truncated by a crash of the machine is.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from hermes_jobs.features.deliveries.channel import ContentOf, Delivered, DeliveryError, nothing_of
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel.engine.ports import Cancel, StepInterrupted
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.clock import Clock
from hermes_jobs.text.figures import file_size
from hermes_jobs.text.moments import iso

LOCK_TRIES = 100  # of LOCK_PAUSE seconds each: the longest wait for other writers
LOCK_PAUSE = 0.05


class FileChannel:
    """Appends to files. `home` is the application's folder, where deliveries are refused."""

    def __init__(
        self, *, home: Path, environ: Mapping[str, str], clock: Clock, content_of: ContentOf = nothing_of
    ) -> None:
        self._content_of = content_of
        self._home = home
        self._user_home = Path(environ.get("HOME") or Path.home())
        self._clock = clock

    def deliver(self, delivery: Delivery, address: str, cancel: Cancel) -> Delivered:
        """Append the answer, unless the file has it. Raises `DeliveryError`, `StepInterrupted`."""
        requested = delivery.requested
        assert requested is not None, f"{delivery.stream} was not requested"
        path = self._path(address, requested.workdir)
        try:
            files = [self._saved(path, delivery.id, file) for file in requested.attachments]
            with _opened(path) as file:
                _lock(file, path, cancel)
                self._append(file, delivery.id, requested, files)
        except OSError as error:
            raise DeliveryError(f"{path} cannot be written: {error.strerror or error}.") from error
        return Delivered(str(path))

    def _path(self, address: str, workdir: str | None) -> Path:
        """The file's path: a relative one is resolved against the session's folder, `~` is this process's
        user.
        """
        if address.startswith("~/"):
            path = self._user_home / address[2:]
        else:
            path = Path(workdir or self._user_home) / address
        real = path.resolve()
        if real.is_relative_to(self._home.resolve()):
            raise DeliveryError(
                f"{real} is in the home of hermes-jobs, which is reserved for it.", lasting=True
            )
        return real

    def _saved(self, path: Path, delivery: str, file: Attachment) -> str:
        """Write the file into a folder beside the answers, again and again the same; what is said of it."""
        content = self._content_of(file.digest) if file.digest else None
        if content is None:
            return f"{printable(file.about)}: not stored any more"
        folder = path.with_name(f"{path.name}.files") / delivery
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        named = folder / f"{file.digest[:8]}-{' '.join(printable(file.file_name).split())}"
        write_bytes(named, content)
        return f"{named.relative_to(path.parent)} ({file_size(file.size)})"

    def _append(self, file: int, delivery: str, requested: DeliveryRequested, files: Sequence[str]) -> None:
        size = os.fstat(file).st_size
        if _holds(file, size, _last_line(delivery)):
            return
        record = self._record(delivery, requested, files)
        if size and os.pread(file, 1, size - 1) != b"\n":
            record = b"\n" + record
        try:
            while record:
                record = record[os.write(file, record) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise

    def _record(self, delivery: str, requested: DeliveryRequested, files: Sequence[str]) -> bytes:
        when = iso(self._clock.now())[:19].replace("T", " ") + " UTC"
        source = " ".join(printable(requested.source).split())
        about = (delivery, when, source, "" if requested.ok else "failed")
        head = f"---- {' · '.join(word for word in about if word)} ----\n"
        text = "\n".join((requested.text.rstrip("\n"), *(f"File: {file}" for file in files))) + "\n"
        return f"{head}\n{text}\n".encode("utf-8", "replace") + _last_line(delivery) + b"\n"


def _last_line(delivery: str) -> bytes:
    return f"---- end of {delivery} ----\n".encode()


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The file, created with access for its owner only; its folder is not created."""
    # Non-blocking: opening a pipe without a reader would block.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    file = os.open(path, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise DeliveryError(f"{path} is not a regular file.", lasting=True)
        yield file
    finally:
        os.close(file)


def _lock(file: int, path: Path, cancel: Cancel) -> None:
    """Lock the file against other deliveries. Raises `DeliveryError` where the lock stays taken."""
    pause = Event()
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pause.wait(LOCK_PAUSE)
        else:
            return
        if cancel.reason is not None:
            raise StepInterrupted
    raise DeliveryError(f"{path} is locked by another program.")


def _holds(file: int, size: int, line: bytes) -> bool:
    if not size:
        return False
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as content:
        return content.find(b"\n" + line) >= 0
