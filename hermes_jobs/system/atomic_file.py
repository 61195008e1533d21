"""A file that a command makes: whole or not at all, for its owner alone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hermes_jobs.errors import Rejected


@contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """What is written to is beside `path` and takes its place at the end; where that raises, nothing is left.

    A link stays a link. Raises `Rejected` where there is such a file, unless `force`, where there is anything
    else of that name, and where none can be written.
    """
    if path.exists() and not (force and path.is_file()):
        again = "Give another name, or --force to put the new one there."
        hint = again if path.is_file() else "Name a file."
        raise Rejected(f"{path} is there already.", kind="usage", hint=hint)
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        try:
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        except OSError as error:
            raise Rejected(f"{path} cannot be written: {error.strerror or error}.", kind="usage") from error
    finally:
        draft.unlink(missing_ok=True)
