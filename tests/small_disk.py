"""A file system of a few megabytes that can be filled."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mount(self, options: str) -> bool:
        """Mount it; whether that may be done."""
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def unmount(self) -> None:
        """Take it away."""
        subprocess.run(["umount", str(self.path)], check=True)

    def fill(self) -> Path:
        """Take all the room that is left; the file that has it."""
        ballast, disk = self.path / "ballast", os.statvfs(self.path)
        ballast.write_bytes(b"x" * (disk.f_bavail * disk.f_bsize))
        return ballast


@contextmanager
def mounted(path: Path, size: str = "1m") -> Iterator[SmallDisk]:
    """Such a file system at a folder that is made. The test skips where it may not be mounted."""
    disk = SmallDisk(path)
    path.mkdir()
    if shutil.which("mount") is None or not disk.mount(f"size={size}"):
        pytest.skip("this user may not mount a file system")
    try:
        yield disk
    finally:
        disk.unmount()
