"""The stop signals of a supervisor."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType
from typing import Self

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ShutdownSignals:
    """Counts stop signals; they, and the end of a child process, end `wait`."""

    def __enter__(self) -> Self:
        self.asked = 0
        self._reader, writer = os.pipe()
        for end in (self._reader, writer):
            os.set_blocking(end, False)
        self._writer = writer
        # Signals that the parent process set to be ignored (nohup, a shell's background) stay ignored.
        handled = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in (*handled, signal.SIGCHLD)}
        self._fd_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_error: object) -> None:
        signal.set_wakeup_fd(self._fd_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float) -> None:
        """Wait for a signal, for at most `seconds`."""
        if select.select([self._reader], [], [], seconds)[0]:
            os.read(self._reader, 4096)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number in STOPPING:
            self.asked += 1
