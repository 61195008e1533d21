"""Files that a turn hands over: listed below its answer, and saved to a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.titles import printable


def delivered_lines(turn: str, files: Sequence[Attachment]) -> Iterator[str]:
    """A line about each file, and how to save them; nothing where there are none."""
    yield from (f"· file: {printable(file.about)}" for file in files)
    if files:
        yield f"  save: hermes-jobs turns show {turn} --save ."


def save_files(
    files: Sequence[Attachment], folder: Path, content_of: Callable[[str], bytes | None]
) -> Iterator[Path]:
    """Write the files into the folder, which is created; yields the path of each.

    A file that is there with another content stays: the new one gets a number. Raises `Rejected` where a file
    was forgotten or cannot be written.
    """
    for file in files:
        content = content_of(file.digest) if file.digest else None
        if content is None:
            raise Rejected(f"{printable(file.file_name)} is not stored any more.", kind="unknown_file")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            yield _written(folder, _safe_name(file.file_name), content)
        except OSError as error:
            why = error.strerror or error
            raise Rejected(f"{folder} cannot be written: {why}.", kind="usage") from error


def _written(folder: Path, name: str, content: bytes) -> Path:
    """The new file with that content, or the one that has it already."""
    path, number = folder / name, 1
    while True:
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
                return path
            number += 1
            path = folder / f"{Path(name).stem} ({number}){Path(name).suffix}"
        else:
            return path


def _safe_name(name: str) -> str:
    """A name of a visible file without control characters."""
    plain = "".join(char for char in printable(Path(name).name) if char.isprintable())
    return f"_{plain}" if not plain or plain.startswith(".") else plain
