"""Files that go with a message: pictures and documents beside its text, text files within it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.turns.text import MAX_BYTES, PIPED, STDIN, fenced
from hermes_jobs.text.figures import file_size

if TYPE_CHECKING:
    from hermes_jobs.features.attachments.api import File, Intake
    from hermes_jobs.kernel.turns.attachments import Attachment

SNIFFED = 65_536


class Given(NamedTuple):
    """What `--attach` names: files to attach, the names of text files, and text from standard input."""

    names: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    text_files: tuple[str, ...] = ()
    piped: str = ""


def read_given(names: Sequence[str], most: int) -> Given:
    """Read the files of `--attach`; `most` is in bytes, of one file. Raises usage errors."""
    from hermes_jobs.features.attachments.api import File, is_text

    if names.count(STDIN) > 1:
        raise click.UsageError("Standard input (-) can only be read once.")
    files: list[File] = []
    text_files: list[str] = []
    piped = ""
    for name in names:
        if name == STDIN:
            content = sys.stdin.buffer.read(most + 1)
            if is_text(content):
                piped = content.decode()
            else:
                files.append(File(PIPED, content))
        elif holds_text(Path(name).expanduser(), name):
            text_files.append(name)
        else:
            files.append(read_file(Path(name).expanduser(), name, most))
    return Given(tuple(names), tuple(files), tuple(text_files), piped)


def read_file(path: Path, name: str, most: int) -> File:
    """The file with its name alone: the folder is nobody else's business. Raises a usage error."""
    from hermes_jobs.features.attachments.api import File

    with _reading(name), path.open("rb") as file:
        return File(one_line(path.name.encode(errors="replace").decode()), file.read(most + 1))


def holds_text(path: Path, name: str) -> bool:
    """Whether the file is text, by its beginning. Raises a usage error where it cannot be read."""
    from hermes_jobs.features.attachments.api import is_text

    with _reading(name), path.open("rb") as file:
        return is_text(file.read(SNIFFED))


def attached_lines(attachments: Iterable[Attachment]) -> Iterator[str]:
    """A line about each, for the user."""
    return (f"· with {attachment.about}" for attachment in attachments)


def text_of(text: str, attachments: Iterable[Attachment]) -> str:
    """The message's text; the names of what goes beside it where it has none."""
    names = ", ".join(attachment.file_name for attachment in attachments)
    return text or (f"[{names}]" if names else "")


def composed(intake: Intake, text: str, files: Sequence[File]) -> tuple[str, tuple[Attachment, ...]]:
    """The text with the text files among them, in fences; and the others as attachments.

    Raises `Rejected`, kind `usage`, for a file that cannot be sent: nothing is stored then.
    """
    from hermes_jobs.features.attachments.api import is_text

    texts = [file for file in files if file.content and is_text(file.content)]
    size = sum(len(file.content) for file in texts)
    if size > MAX_BYTES:
        names = ", ".join(file.name for file in texts)
        raise Rejected(
            f"{names}: {file_size(size)} of text; a message may have {file_size(MAX_BYTES)}.",
            kind="usage",
            hint="Send a part of it.",
        )
    beside = [file for file in files if file not in texts]
    attachments = intake.attach(beside) if beside else ()
    parts = [text, *(fenced(file.name, file.content.decode()) for file in texts)]
    return text_of("\n\n".join(filter(None, parts)), attachments), attachments


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """A usage error that names the file in place of an `OSError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        shown = one_line(name.encode(errors="replace").decode())
        raise click.BadParameter(f"{shown}: {reason}.", param_hint="--attach") from error
