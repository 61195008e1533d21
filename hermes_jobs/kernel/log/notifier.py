"""A notification from one process of this host to the others that the log has new events.

A subscriber has a named pipe in a shared folder; a writer writes one byte to each. A notification may be lost
or superfluous: waiting processes also poll the log. Pipes rather than sockets: a socket's path must be short.
"""

from __future__ import annotations

import errno
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hermes_jobs.system.randomness import random_hex

DEBOUNCE_SECONDS = 0.002  # seconds in which several notifications count as one

_HIDDEN = "."


class ProcessNotifier:
    """This process's pipe, from the first `subscribe` to `close`, and the way to those of others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = ""
        self._pipe = -1
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def subscribe(self, on_notification: Callable[[], None]) -> bool:
        """Call `on_notification` in a thread whenever another process notifies; whether that can be.

        Has no effect on a second call, or if no pipe can be made.
        """
        with self._lock:
            if self._thread is not None or self._closing.is_set():
                return bool(self._own)
            self._thread = threading.Thread(
                target=self._run, args=(on_notification,), name="notifier", daemon=True
            )
            try:
                self._create_pipe()
            except OSError:
                return False
            self._thread.start()
            return True

    def notify(self) -> None:
        """Notify all other processes. Never blocks or raises; removes the pipes of dead processes."""
        with suppress(OSError):
            for name in os.listdir(self._folder):  # noqa: PTH208 - after each append: paths cost too much
                if name != self._own and not name.startswith(_HIDDEN):
                    _notify_pipe(f"{self._folder}/{name}")

    def close(self) -> None:
        """Stop the thread and remove the pipe."""
        with self._lock:
            self._closing.set()
            if not self._own or self._thread is None:
                return
            (self._folder / self._own).unlink(missing_ok=True)
            with suppress(BlockingIOError):  # it is full, which wakes the thread as well
                os.write(self._pipe, b"!")
            self._thread.join()
            os.close(self._pipe)

    def _create_pipe(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = random_hex(6)
        hidden = self._folder / f"{_HIDDEN}{name}"
        os.mkfifo(hidden, 0o600)
        # Open for both: it never reaches its end, however many writers open and close it.
        self._pipe = os.open(hidden, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        # Visible to others only now: a pipe without a reader is that of a dead process.
        hidden.rename(self._folder / name)
        self._own = name

    def _run(self, on_notification: Callable[[], None]) -> None:
        poll = select.poll()  # select.select supports only small file descriptors
        poll.register(self._pipe, select.POLLIN)
        while not self._closing.is_set():
            poll.poll()
            os.read(self._pipe, 4096)  # before the call: a later notification causes another
            on_notification()
            self._closing.wait(DEBOUNCE_SECONDS)


def _notify_pipe(path: str) -> None:
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # no process has it open for reading
            Path(path).unlink(missing_ok=True)
        return
    try:
        with suppress(BlockingIOError):  # it is full: the reader will wake anyway
            os.write(pipe, b"!")
    finally:
        os.close(pipe)
