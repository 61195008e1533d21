"""Reads answers from a terminal: one key, or a line, unless the question is answered elsewhere."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator

POLL_SECONDS = 0.3  # seconds between two checks whether an answer is still needed
TERMINAL = "/dev/tty"


def can_ask() -> bool:
    """Whether a user at the terminal can read a question on standard error, and answer it.

    With piped input, keys are read from the terminal too. A background job cannot ask.
    """
    if not sys.stderr.isatty():
        return False
    try:
        with _terminal() as descriptor:
            return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


def read_key(
    keys: str, is_open: Callable[[], bool], *, show: Callable[[], object], other: Callable[[], object]
) -> str | None:
    """Show a question, and return the first pressed key of these; None if none is needed any more.

    Earlier input is dropped. `other` is called for any other key, and for a paste. Raises `EOFError` if
    the terminal was closed.
    """
    with _terminal() as descriptor, _by_key(descriptor):
        termios.tcflush(descriptor, termios.TCIFLUSH)
        show()
        while is_open():
            if select.select([descriptor], [], [], POLL_SECONDS)[0]:
                pressed = _read(descriptor)
                key = pressed.strip("\r\n").lower()
                if len(key) == 1 and key in keys:
                    return key
                other()
    return None


def read_answer(is_open: Callable[[], bool], *, show: Callable[[], object] | None = None) -> str | None:
    """Read a line; None if no answer is needed any more. `show` prints the prompt: what was typed before it
    is dropped, and nothing after it.

    Raises `EOFError`.
    """
    with _terminal() as descriptor:
        if show is not None:
            termios.tcflush(descriptor, termios.TCIFLUSH)
            show()
        while is_open():
            if select.select([descriptor], [], [], POLL_SECONDS)[0]:
                return _read(descriptor).strip()
    return None


def _read(descriptor: int) -> str:
    """Read the typed bytes. Raises `EOFError` for a Ctrl-D, and if the terminal was closed."""
    try:
        typed = os.read(descriptor, 4096).decode(errors="replace")
    except OSError as error:
        raise EOFError from error
    if typed in {"", "\x04"}:
        raise EOFError
    return typed


@contextlib.contextmanager
def _terminal() -> Iterator[int]:
    """The terminal of the keys. Raises `OSError` if there is none."""
    if sys.stdin.isatty():
        yield sys.stdin.fileno()
        return
    descriptor = os.open(TERMINAL, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _by_key(descriptor: int) -> Iterator[None]:
    """Read single keys without echo; Ctrl-C still interrupts."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
