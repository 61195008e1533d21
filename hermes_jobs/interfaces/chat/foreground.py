"""Runs commands on the terminal while the prompt is hidden: command lines of hermes-jobs, and the user's
own."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import click
import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import report
from hermes_jobs.interfaces.cli.output import note

T = TypeVar("T")

HEAD_BYTES, TAIL_BYTES = 10_000, 20_000  # stored bytes of a command's output
CHUNK = 65_536  # bytes read at once
POLL_SECONDS = 0.1  # seconds between checks whether the shell has ended while others keep its pipe open


class ShellOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a command on both streams: the beginning, and the end if it was too long.

    `left_out` bytes are missing between them. `code` is the exit code, negative for a signal.
    """

    command: str
    head: str
    tail: str
    left_out: int
    code: int


def ask_interruptibly(act: Callable[[], T]) -> T:
    """Ask the user here; a Ctrl-C cancels the question and raises `Rejected`."""
    try:
        with _wakeup_off(), sigint_handler(signal.default_int_handler):
            return act()
    except KeyboardInterrupt:
        raise Rejected("Nothing was answered.", kind="mcp") from None


def run_command_line(context: CliContext, words: Sequence[str]) -> None:
    """Run a command line of `hermes-jobs` within this process; a Ctrl-C interrupts it."""
    from hermes_jobs.interfaces.cli import hermes_jobs

    with _wakeup_off(), sigint_handler(signal.default_int_handler):
        try:
            hermes_jobs.main(list(words), prog_name="hermes-jobs", standalone_mode=False, obj=context)
        except (KeyboardInterrupt, click.Abort):
            note("")
        except Exception as error:  # noqa: BLE001 - whatever went wrong becomes words, and the chat continues
            report(error, context)


def run_shell(command: str, folder: str) -> ShellOutput:
    """Run the user's command in their shell, and show its output; a Ctrl-C goes to the command.

    Raises `OSError` if the folder or the shell is missing.
    """
    shell = os.environ.get("SHELL") or "/bin/sh"
    with _wakeup_off(), sigint_handler(lambda *_: None):  # the command gets it too: it shares the terminal
        process = subprocess.Popen(
            [shell, "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        head, tail, size = b"", b"", 0
        for chunk in _chunks(process):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            size += len(chunk)
            free = HEAD_BYTES - len(head)
            head += chunk[:free]
            tail = (tail + chunk[max(free, 0) :])[-TAIL_BYTES:]
        process.stdout.close()
        code = process.wait()
    left_out = size - len(head) - len(tail)
    if not left_out:
        head, tail = head + tail, b""
    return ShellOutput(
        command=command,
        head=head.decode(errors="replace"),
        tail=tail.decode(errors="replace"),
        left_out=left_out,
        code=code,
    )


def _chunks(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """The output until its end, or until the shell has ended and its remaining processes print nothing."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    while True:
        ended = process.poll() is not None
        ready, _, _ = select.select([pipe], [], [], 0 if ended else POLL_SECONDS)
        if ready:
            chunk = os.read(pipe, CHUNK)
            if not chunk:
                return
            yield chunk
        elif ended:
            return


@contextlib.contextmanager
def sigint_handler(handler: Callable[..., object]) -> Iterator[None]:
    """Replace the handler of SIGINT meanwhile."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _wakeup_off() -> Iterator[None]:
    """The prompt's loop is not woken by signals meanwhile."""
    loop_hears_by = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(loop_hears_by)
