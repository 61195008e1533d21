"""What a working folder says about itself to agents: the first of four well-known files."""

# Opened by descriptor, so that what was checked is what is read.
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
"""A project may well say how its machines are set up, so what persists on them passes."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe by that name must not make anybody wait


class LeftOutFile(Exception):
    """Why a file is not shown."""


def project_context(workdir: str | None) -> str:
    """The file's text under a heading, scanned and cut; empty where there is none. Never raises."""
    for name in NAMES if workdir else ():
        assert workdir is not None
        try:
            text = read_project_file(Path(workdir), name)
        except LeftOutFile as reason:
            text = f"[{name} was left out: {reason}.]"
        if text.strip():
            # What is left out costs nothing: only what is shown is looked through.
            return f"# What {name} says about this folder\n\n{scanned(cut(text.strip(), name))}"
    return ""


def cut(text: str, name: str) -> str:
    """The text within its limit: beginning and end, and between them a note of what is missing."""
    if len(text) <= MAX_CHARACTERS:
        return text
    missing = len(text) - HEAD_CHARACTERS - TAIL_CHARACTERS
    note = f"[… {missing:,} characters are left out here; read {name} for the whole …]"
    return f"{text[:HEAD_CHARACTERS]}\n\n{note}\n\n{text[-TAIL_CHARACTERS:]}"


def read_project_file(folder: Path, name: str) -> str:
    """The text; empty where there is none. Raises `LeftOutFile` for what must not or cannot be shown."""
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
        raise LeftOutFile("it is no UTF-8 text") from None
    if "\0" in text:
        raise LeftOutFile("it is no text")
    return text


def scanned(text: str) -> str:
    """The text with suspicious lines and hidden characters replaced by notes that name the rule."""
    return redact_findings(text, KINDS)
