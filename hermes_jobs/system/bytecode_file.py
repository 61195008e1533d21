"""A file that is kept where Python keeps bytecode: what `hermes_jobs.text.scan.kept` derives from its tables.

Like bytecode it belongs to the installation, which commands of the sandbox cannot write.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from hermes_jobs.system.atomic_file import write_bytes


class BytecodeFile:
    """The file of this name among the bytecode of a folder with modules."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = Path(cache_from_source(str(folder / f"{name}.py"))).with_suffix(".kept")

    def read(self) -> bytes | None:
        """Its content, empty if there is none; None where it could not be written either."""
        with suppress(OSError):
            return self._path.read_bytes()
        return b"" if _is_writable(self._path.parent) else None

    def write(self, content: bytes) -> None:
        """Replace it; where that fails nothing is kept."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._path, content, durable=False)
            self._path.chmod(0o644)


def _is_writable(folder: Path) -> bool:
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return os.access(there, os.W_OK)
