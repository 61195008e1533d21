"""Asks git about a folder, which may be made so that git never answers."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH116, PTH118, PTH120

from __future__ import annotations

import os
import selectors
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from hermes_jobs.tools.git_named import named_by
from hermes_jobs.tools.git_places import first_line, git_folder

GIT_SECONDS = 5.0
MAX_BYTES = 1_000_000
MAX_REFS = 5  # of which one leads to the next, as in git
_FIRST = ("HEAD", "config", "config.worktree", "commondir", "packed-refs")


class Unreadable(Exception):
    """git cannot say what it would do in a folder."""


class Silent(Unreadable):
    """git did not end: it waits for something, such as a pipe that it was told to read."""


class Git:
    """git, for one command line: in a folder where it did not answer it is not asked again."""

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._environ = {**environ, "LC_ALL": "C"}
        self._silent: dict[str, Silent] = {}

    def ask(self, folder: str, *words: str, errors: int = subprocess.DEVNULL) -> str:
        """What it prints. Raises `Unreadable`."""
        if folder in self._silent:
            raise self._silent[folder]
        _refuse_pipes(folder)
        try:
            return _run((self._program, *words), folder, self._environ, errors=errors)
        except Silent as silent:
            self._silent[folder] = silent
            raise


def _refuse_pipes(folder: str) -> None:
    """Raise `Unreadable` where a file that git reads first is a pipe or a device, for which it would wait."""
    while True:
        own = os.path.join(folder, ".git")
        gits = [folder, own, git_folder(folder)]
        gits += [os.path.join(git, common) for git in gits if (common := first_line(f"{git}/commondir"))]
        for git in filter(None, dict.fromkeys(gits)):
            _refuse_pipe(git, *_FIRST, *_refs(git), *(path for _, path in named_by(f"{git}/config", "~")))
        _refuse_pipe(folder, ".git", ".gitmodules")
        if os.path.lexists(own) or folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def _refs(git: str) -> Iterator[str]:
    """The references to which the one that is checked out leads."""
    name = "HEAD"
    for _ in range(MAX_REFS):
        name = first_line(os.path.join(git, name)).partition("ref:")[2].strip()
        if not name:
            return
        yield name


def _refuse_pipe(folder: str, *names: str) -> None:
    for name in names:
        with suppress(OSError, ValueError):
            mode = os.stat(os.path.join(folder, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise Unreadable(f"{name} is no file")


def _run(
    command: Sequence[str], folder: str, environ: Mapping[str, str], *, errors: int = subprocess.DEVNULL
) -> str:
    """The output of git. Raises `Unreadable` for a failure, too much output, or after `GIT_SECONDS`."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Unreadable(str(error)) from error
    assert process.stdout is not None
    try:
        output = _read(process.stdout.fileno())
        code = process.wait(GIT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise Silent("git did not end") from error
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
    if code:
        raise Unreadable(output.decode(errors="replace").strip()[:200] or f"exit code {code}")
    return output.decode(errors="surrogateescape")


def _read(descriptor: int) -> bytes:
    output = b""
    deadline = time.monotonic() + GIT_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while len(output) <= MAX_BYTES:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise Silent("git did not answer")
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                return output
            output += chunk
    raise Unreadable("its settings are too long")
