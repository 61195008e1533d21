"""A working folder's instructions for agents: the first of four well-known files."""

# Opened by descriptor, so that the checked file is the one that is read.
from __future__ import annotations

import os
import stat
from pathlib import Path

from hermes_jobs.text.scan import Kind, redact_findings

NAMES = (".hermes.md", "AGENTS.md", "CLAUDE.md", ".cursorrules")
MAX_CHARACTERS = 20_000
HEAD_CHARACTERS, TAIL_CHARACTERS = 14_000, 4_000
MAX_BYTES = 1 << 20

KINDS: tuple[Kind, ...] = ("instruction", "exfiltration", "credential", "hidden")
"""Rules that are not applied: a project may explain the setup of its machines."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe of that name must not block


class LeftOutFile(Exception):
    """A file is omitted. The message is the reason."""


def project_context(workdir: str | None) -> str:
    """The file's text under a heading, scanned and cut; empty if there is none. Never raises."""
    for name in NAMES if workdir else ():
        assert workdir is not None
        try:
            text = read_project_file(Path(workdir), name)
        except LeftOutFile as reason:
            text = f"[{name} was left out: {reason}.]"
        if text.strip():
            # Only the shown part is scanned.
            return f"# What {name} says about this folder\n\n{redact_findings_in(cut(text.strip(), name))}"
    return ""


def cut(text: str, name: str) -> str:
    """The text within its limit: beginning and end, and between them a note about the missing part."""
    if len(text) <= MAX_CHARACTERS:
        return text
    missing = len(text) - HEAD_CHARACTERS - TAIL_CHARACTERS
    note = f"[… {missing:,} characters are left out here; read {name} for the whole …]"
    return f"{text[:HEAD_CHARACTERS]}\n\n{note}\n\n{text[-TAIL_CHARACTERS:]}"


def read_project_file(folder: Path, name: str) -> str:
    """The text; empty if there is no file. Raises `LeftOutFile` if it must not or cannot be shown."""
    try:
        real = (folder / name).resolve(strict=True)
    except (OSError, RuntimeError):
        return ""
    if not real.is_relative_to(folder.resolve()):
        raise LeftOutFile("it is a link to a place outside of the folder")
    try:
        descriptor = os.open(real, _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            kind = os.fstat(descriptor)
            if not stat.S_ISREG(kind.st_mode):
                return ""
            if kind.st_size > MAX_BYTES:
                raise LeftOutFile(f"it is larger than {MAX_BYTES:,} bytes")
            content = file.read(MAX_BYTES)
    except IsADirectoryError:
        return ""
    except OSError as error:
        raise LeftOutFile(f"it cannot be read ({error.strerror})") from error
    return _text(content)


def _text(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LeftOutFile("it is not UTF-8 text") from None
    if "\0" in text:
        raise LeftOutFile("it is not text")
    return text


def redact_findings_in(text: str) -> str:
    """The text with suspicious lines and hidden characters replaced by notes that name the rule."""
    return redact_findings(text, KINDS)
