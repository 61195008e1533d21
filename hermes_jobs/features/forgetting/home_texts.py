"""Texts in a home that the log does not refer to, so that a removal has to search for them.

Input of `chat`, logs, snapshots of files, commands and outputs of background processes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hermes_jobs.features.forgetting.patterns import Pattern
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class HomeTexts:
    """Finds and removes them in one home. Methods raise `OSError`."""

    def __init__(self, application: Application) -> None:
        self._paths = application.settings.paths
        self._snapshots = application.snapshots
        self._processes = application.processes.files

    def places(self, matches: Callable[[str], bool]) -> list[str]:
        """Names of the places that hold what `found` finds."""
        names = [
            file.relative_to(self._paths.home).as_posix()
            for file in (self._paths.chat_history, *self._logs())
            if file.is_file() and matches(file.read_bytes().decode("utf-8", "replace"))
        ]
        num_snapshots = sum(1 for _ in self._snapshots.files_holding(matches))
        num_outputs = sum(matches(self._processes.texts(name)) for name in self._processes.ids())
        names += [f"snapshots/ ({pluralize(num_snapshots, 'file')})"] * bool(num_snapshots)
        return names + [f"run/processes/ ({pluralize(num_outputs, 'process', 'processes')})"] * bool(
            num_outputs
        )

    def scrub_typed(self, text: Callable[[str], str]) -> None:
        """Rewrite what was typed in `chat`: an entry becomes what `text` gives for it; none for no text.

        An entry of that file is a comment, and lines that begin with a plus.
        """
        file = self._paths.chat_history
        try:
            stored = file.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return
        remaining = []
        for entry in re.split(r"\n(?=# )", f"\n{stored}")[1:]:
            comment, _, lines = entry.partition("\n")
            typed = "\n".join(line.removeprefix("+") for line in lines.rstrip("\n").split("\n"))
            after = text(typed)
            if after:
                remaining.append(f"\n{comment}\n" + "".join(f"+{line}\n" for line in after.split("\n")))
        if "".join(remaining) != stored:
            write_bytes(file, "".join(remaining).encode())

    def scrub(self, pattern: Pattern) -> None:
        """Remove a pattern: stars replace it in logs and outputs, snapshots with it are deleted."""
        for file in self._logs():
            _mask([file], pattern)
        for path in self._snapshots.files_holding(pattern.found):
            path.unlink(missing_ok=True)
        for name in self._processes.ids():
            self._processes.rewrite(name, pattern)
            _mask(list(self._processes.parts(name).values()), pattern)

    def _logs(self) -> Iterator[Path]:
        for file in sorted(self._paths.logs.glob("*")):
            if file.is_file() and not file.is_symlink():
                yield file


def _mask(parts: Sequence[Path], pattern: Pattern) -> None:
    """Write stars over the matches in a text, which may be split over several files at any point.

    In place, because the process that writes the files continues.
    """
    with ExitStack() as opened:
        files = []
        for part in parts:
            with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
                files.append(opened.enter_context(part.open("r+b")))
        text = b"".join(file.read() for file in files).decode("utf-8", "surrogateescape")
        at = read_to = 0
        for start, end in pattern.spans(text):
            at += _size(text[read_to:start])
            _overwrite(files, at, _size(text[start:end]))
            at, read_to = at + _size(text[start:end]), end


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _overwrite(files: Sequence[BinaryIO], at: int, length: int) -> None:
    for file in files:
        size = os.fstat(file.fileno()).st_size
        here = min(length, max(0, size - at))
        if here:
            os.pwrite(file.fileno(), b"*" * here, at)
        at, length = max(0, at - size), length - here
