"""One file of a skill: its bytes, as a text if possible, and the limits of usable files."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

from hermes_jobs.features.skills.events import SkillFile
from hermes_jobs.features.skills.rules.skill import MAIN_FILE
from hermes_jobs.features.skills.skill_md import MAX_CHARACTERS, MAX_FILE_BYTES
from hermes_jobs.folders.marks import open_without_atime

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not block

Signature = tuple[int, int, int, int]


class UnusableText(Exception):
    """A file or a folder cannot be used. The message is the reason."""


def content_of(file: SkillFile) -> bytes:
    """The file's bytes."""
    return base64.b64decode(file.content) if file.base64 else file.content.encode("utf-8", "replace")


def as_file(content: bytes) -> SkillFile:
    """The bytes as a text, if they are UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return SkillFile(base64.b64encode(content).decode(), base64=True)
    return SkillFile(text)


def read_file(real: Path, path: str) -> SkillFile:
    """The file at a path without links; `path` is its name in the skill. Raises `UnusableText`."""
    try:
        descriptor = open_without_atime(real, _READ)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnusableText("it is not a plain file")
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UnusableText(f"it cannot be read ({error.strerror})") from error
    if len(content) > MAX_FILE_BYTES:
        raise UnusableText(f"it is larger than {MAX_FILE_BYTES:,} bytes")
    skill_file = as_file(content)
    if path == MAIN_FILE and skill_file.base64:
        raise UnusableText("it is not UTF-8 text")
    if path == MAIN_FILE and len(skill_file.content) > MAX_CHARACTERS:
        raise UnusableText(f"it has more than {MAX_CHARACTERS:,} characters")
    return skill_file


def signature_of(status: os.stat_result) -> Signature:
    """A value that changes with a file's content."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
