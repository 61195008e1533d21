"""The standard streams of a process: missing streams, closed readers, and reading the input."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STREAMS: Final = ("stdin", "stdout", "stderr")


class _LossyFile(io.FileIO):
    """A file that discards writes while it has no reader."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:  # its reader has ended, its disk is full, its terminal was closed
            return memoryview(data).nbytes


def discard_output(number: int) -> None:
    """Redirect the descriptor to the null device, also for child processes."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere == number:
        os.set_inheritable(number, True)
        return
    os.dup2(nowhere, number)
    os.close(nowhere)


def prepare() -> None:
    """Make all three streams usable, however this process was started.

    One that was closed (`<&-`) is empty, or leads nowhere, so that no file of ours takes its number. Whatever
    a model writes can be printed, also where the terminal's encoding cannot hold it. Notes that nobody
    takes are no reason to end; a standard output that nobody takes is: see `hermes_jobs.interfaces.cli.run`.
    """
    for number, name in enumerate(STREAMS):
        if getattr(sys, name) is None:
            discard_output(number)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays
    notes = io.BufferedWriter(_LossyFile(sys.stderr.fileno(), "w", closefd=False))
    encoding = sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(notes, encoding, errors="backslashreplace", line_buffering=True)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a TextIOWrapper in a process


def has_reader() -> bool:
    """Whether standard output may still have a reader: that of a pipe may have ended (`… | head -1`)."""
    import select

    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # only for errors, which are always reported
    return not poll.poll(0)


def read_stdin() -> str:
    """Read standard input. Raises a usage error if it is not text."""
    return decoded(sys.stdin.buffer.read(), "standard input")


def decoded(content: bytes, origin: str) -> str:
    """The bytes as text. Raises a usage error that names `origin` if they are not."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{origin} is not UTF-8 text (byte {error.start}).") from error
