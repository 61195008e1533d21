"""Instructions for agents: of the home, the working folder, and the folders above it in its repository.

Of each folder the first of four well-known files counts.
"""

# Opened by descriptor, so that the checked file is the one that is read.
from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes_jobs.text.scan.findings import Kind
from hermes_jobs.text.scan.scanner import redact_findings

NAMES = (".hermes.md", "AGENTS.md", "CLAUDE.md", ".cursorrules")
MAX_CHARACTERS = 20_000
HEAD_CHARACTERS, TAIL_CHARACTERS = 14_000, 4_000
MAX_BYTES = 1 << 20

KINDS: tuple[Kind, ...] = ("instruction", "exfiltration", "credential", "hidden")
"""Rules that are not applied: a project may explain the setup of its machines."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe of that name must not block


class LeftOutFile(Exception):
    """A file is omitted. The message is the reason."""


def project_context(workdir: str | None, home: Path | None = None, *, limit: int = MAX_CHARACTERS) -> str:
    """The files' texts under headings, scanned and cut, the nearest last; empty without any. Never raises.

    All together have at most `limit` characters, and `MAX_CHARACTERS`, of which the nearest get theirs first.
    """
    remaining, sections = min(limit, MAX_CHARACTERS), []
    for folder, shown, heading in _places(workdir, home):
        name, text = _instructions(folder, ("AGENTS.md",) if folder == home else NAMES)
        if not text:
            continue
        label = f"{shown}{name}"
        part = cut(text, label, remaining) if remaining else f"[{label} was left out: nearer files are long.]"
        remaining = max(0, remaining - len(text))
        # Only the shown part is scanned.
        sections.append(f"# What {label} says about {heading}\n\n{redact_findings_in(part)}")
    return "\n\n".join(reversed(sections))


def _places(workdir: str | None, home: Path | None) -> Iterator[tuple[Path, str, str]]:
    """The folders, the nearest first: the prefix of the names of their files, and what those are about."""
    folder = Path(workdir) if workdir else None
    if folder is not None:
        yield folder, "", "this folder"
        for steps, above in enumerate(_up_to_repository(folder), 1):
            yield above, "../" * steps, "the project of this folder"
    if home is not None and home != folder:
        yield home, "the user's ", "all work"


def _up_to_repository(folder: Path) -> Iterator[Path]:
    """The folders above it in its repository, the nearest first; none outside of a repository."""
    try:
        real = folder.resolve()
    except (OSError, RuntimeError):
        return
    root = next((each for each in (real, *real.parents) if (each / ".git").exists()), real)
    for above in real.parents if root != real else ():
        yield above
        if above == root:
            return


def _instructions(folder: Path, names: tuple[str, ...]) -> tuple[str, str]:
    """The name and the text of the folder's first file that says something; empty if there is none."""
    for name in names:
        try:
            text = read_project_file(folder, name).strip()
        except LeftOutFile as reason:
            text = f"[{name} was left out: {reason}.]"
        if text:
            return name, text
    return "", ""


def cut(text: str, name: str, limit: int = MAX_CHARACTERS) -> str:
    """The text within its limit: beginning and end, and between them a note about the missing part."""
    if len(text) <= limit:
        return text
    head, tail = HEAD_CHARACTERS * limit // MAX_CHARACTERS, TAIL_CHARACTERS * limit // MAX_CHARACTERS
    missing = len(text) - head - tail
    note = f"[… {missing:,} characters are left out here; read {name} for the whole …]"
    return f"{text[:head]}\n\n{note}\n\n{text[len(text) - tail :]}"


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
