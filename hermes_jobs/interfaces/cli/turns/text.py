"""The text of a turn for `send`: TEXT, then files under their names, then piped input.

Programs that start others often leave them an open pipe that nobody writes to (Node's `spawn`, CI runners):
where there is a text without it, it is read only if something comes soon.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click

from hermes_jobs.interfaces.cli.output import note, one_line

STDIN = "-"
MAX_BYTES = 1_000_000  # of all files and the piped input of one turn
PIPED = "standard input"
PATIENCE = 1.0  # seconds until the first byte of an input that was not asked for


class Text(NamedTuple):
    """A text to send; `piped`: standard input or a file is part of it, outside of any fence."""

    text: str
    piped: bool


def read_text(
    text: str | None,
    files: Sequence[str],
    *,
    may_be_empty: bool = False,
    named_in: Callable[[str, Inputs], Sequence[str]] | None = None,
    piped: str = "",
    stdin_is_read: bool = False,
) -> Text:
    """The text to send: the text, the attachments from `named_in(text, inputs)`, each file in a fence
    under its given name, the piped input.

    `piped` is what was read of standard input already, if `stdin_is_read`. A single file without TEXT is the
    text itself. Raises a usage error if there is nothing to send (unless it `may_be_empty`), if an input is
    not UTF-8 text, or if files and piped input have more than `MAX_BYTES` together.
    """
    if [text, *files].count(STDIN) > 1:
        raise click.UsageError("Standard input (-) can only be read once.")
    names = [file for file in files if file != STDIN]
    inputs = Inputs()
    contents = [inputs.read_file(file_name) for file_name in names]
    message = text if text not in {None, STDIN} else None
    parts = [] if message is None else [message, *(named_in(message, inputs) if named_in is not None else ())]
    is_piped = message is None and len(names) == 1
    if is_piped:
        parts += contents
    else:
        parts += [fenced(name, content) for name, content in zip(names, contents, strict=True)]
    is_asked_for = STDIN in {text, *files}
    if is_asked_for and stdin_is_read:
        raise click.UsageError("Standard input (-) can only be read once.")
    if piped:
        parts.append(inputs.taken(piped, PIPED))
        is_piped = True
    if is_asked_for or (
        not stdin_is_read and _is_piped(may_wait=not may_be_empty and not any(map(str.strip, parts)))
    ):
        parts.append(inputs.read(sys.stdin.buffer, PIPED))
        is_piped = is_piped or bool(parts[-1].strip())
    whole = "\n\n".join(part for part in parts if part.strip())
    if not whole and not may_be_empty:
        raise click.UsageError('Nothing to send: give TEXT, --file, or standard input ("-").')
    return Text(whole, is_piped)


class Inputs:
    """Reads inputs of at most `MAX_BYTES` together. Raises usage errors."""

    def __init__(self) -> None:
        self._remaining_bytes = MAX_BYTES

    def read_file(self, name: str, *, label: str = "") -> str:
        """The file's text. `label` is its name in errors, if different.

        Raises a `BadParameter` for a file that cannot be read.
        """
        title = _printed(label or name)
        try:
            with Path(name).expanduser().open("rb") as file:
                return self.read(file, title)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise click.BadParameter(f"{title}: {reason}.", param_hint="--file") from error

    def taken(self, text: str, name: str) -> str:
        """A text that was read already. Raises a `UsageError` if it is too large."""
        return self.read(BytesIO(text.encode()), name)

    def read(self, file: BinaryIO, name: str) -> str:
        """The rest of the file as text. Raises a `UsageError` if it is too large or not text."""
        content = file.read(self._remaining_bytes + 1)
        if len(content) > self._remaining_bytes:
            raise click.UsageError(
                f"{name} is too large: files and piped input may have {MAX_BYTES:,} bytes together.\n"
                "Send a part of it (head, tail, grep), or name its path in TEXT: the agent can read files of "
                "its folder."
            )
        self._remaining_bytes -= len(content)
        return _decoded(content, name)


def _decoded(content: bytes, name: str) -> str:
    if b"\0" in content:
        raise click.UsageError(
            f"{name} is a binary file (it has a NUL at byte {content.index(0)}).\n"
            "Convert it to text first, or name its path in TEXT: the agent can inspect it with its tools."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"{name} is not UTF-8 text (byte {error.start}).\n"
            "If it has another encoding, convert it: iconv -f LATIN1 -t UTF-8."
        ) from error


def fenced(name: str, content: str) -> str:
    """The file under its name, in a fence longer than any in it, and without marks of ours."""
    from hermes_jobs.text.fences import in_fence
    from hermes_jobs.text.marks import without_marks

    return f"{_printed(name)}:\n{in_fence(without_marks(content))}"


def _printed(name: str) -> str:
    """The file's name on one line; bytes that are not UTF-8 are shown as `�`."""
    return one_line(name.encode(errors="replace").decode())


def _is_piped(*, may_wait: bool) -> bool:
    """Whether something was redirected to standard input: a file, or a pipe or a socket, not a terminal.

    Unless it `may_wait`, an open pipe or socket counts only if something comes within `PATIENCE`, or its end.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return stat.S_ISREG(mode)
    if may_wait or _comes_within(PATIENCE):
        return True
    note('Standard input is open, but nothing came: going on without it. To wait for it, add "-f -".')
    return False


def _comes_within(seconds: float) -> bool:
    """Whether standard input has something to read, or has ended."""
    import select

    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN)
    return bool(poll.poll(seconds * 1_000))
