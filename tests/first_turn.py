"""One turn in a process that others are forked from: they find filled what it has filled."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import tzlocal.unix

from hermes_jobs.interfaces.cli import run
from tests.home import endpoint
from tests.model_server import ModelServer


def answer_a_turn() -> None:
    """Run `send` in this process: most of its CPU time fills caches, which do not depend on a home.

    Raises `RuntimeError` where it fails, or leaves a thread, a signal's handler or a call at exit behind.
    """
    stderr = sys.stderr
    with TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        before, files = _left_behind(), _open_files()
        model = ModelServer().start()
        home = {"HOME": folder, "HERMES_JOBS_HOME": f"{folder}/home"}
        with _environment({"PATH": os.defpath, **home, **endpoint(model.base_url)}), _log_handlers():
            code = run(("send", "--json", "hello"))
        model.close()
        for number in _open_files() - files:  # a process leaves its locks on files to its end
            os.close(number)
    sys.stderr = stderr
    tzlocal.unix._cache_tz_name = None  # the one cache that depends on the environment
    if code or _left_behind() != before:
        raise RuntimeError(f"the first turn ended with {code} and left {_left_behind()}, not {before}")


@contextmanager
def _environment(only: Mapping[str, str]) -> Iterator[None]:
    """These variables and no others."""
    ours = dict(os.environ)
    os.environ.clear()
    os.environ.update(only)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(ours)


@contextmanager
def _log_handlers() -> Iterator[None]:
    """Log handlers that are added meanwhile go: forked processes would write into a home that is gone."""
    root, raises = logging.getLogger(), logging.raiseExceptions
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        for handler in set(root.handlers) - set(handlers):
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
        logging.raiseExceptions = raises


def _open_files() -> set[int]:
    """The numbers of open files, without the one that is open to list them."""
    return {int(path.name) for path in Path("/dev/fd").iterdir() if path.exists()}


def _left_behind() -> tuple[object, ...]:
    """What forked processes inherit beside memory and files: threads, handlers of signals and of logging,
    calls at exit."""
    handlers = [signal.getsignal(each) for each in sorted(signal.valid_signals())]
    return threading.enumerate(), handlers, logging.getLogger().handlers[:], atexit._ncallbacks()
