"""A real engine of containers, and a small image of the machine's busybox, for tests that skip without."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from functools import cache

import pytest

from hermes_jobs.tools.docker import DockerOptions

IMAGE = "hermes-jobs-tests:busybox"
OPTIONS = DockerOptions(image=IMAGE, shell="sh")
SECONDS = 30


def docker(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Ask the engine. Raises `OSError`, `TimeoutExpired`."""
    words = ["docker", *arguments]
    return subprocess.run(words, input=given, capture_output=True, timeout=SECONDS, check=False)


def containers(prefix: str = "hermes-") -> Sequence[str]:
    """The names of containers, in any state, that begin so."""
    listed = docker("ps", "--all", "--format", "{{.Names}}").stdout.decode().split()
    return [name for name in listed if name.startswith(prefix)]


@cache
def missing() -> str:
    """Why there is no engine with the image, which is made here; empty if there is one."""
    try:
        if docker("version").returncode != 0:
            return "no engine of containers answers"
        if docker("image", "inspect", IMAGE).returncode == 0:
            return ""
        busybox = shutil.which("busybox")
        if busybox is None:
            return "there is no busybox for an image"
        docker("import", "-", IMAGE, given=_archive(busybox))
        tried = docker("run", "--rm", "--network", "none", IMAGE, "sh", "-c", "true")
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no engine of containers answers ({error})"
    return "" if tried.returncode == 0 else f"the image does not run: {tried.stderr.decode()[-200:]}"


def need_engine() -> None:
    """Skip the test where no engine answers."""
    if reason := missing():
        pytest.skip(reason)


def _archive(busybox: str) -> bytes:
    """A file system with busybox and its names."""
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp", "usr", "usr/bin"):
            made = tarfile.TarInfo(folder)
            made.type, made.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(made)
        archive.add(os.path.realpath(busybox), "bin/busybox")
        for name in names:
            if name != "busybox":
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                archive.addfile(link)
    return content.getvalue()
