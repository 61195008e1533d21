"""The project of a user's, in a fresh environment: its README, word by word."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.services import REDIS_URL
from tests.tools.support import processes_with

PROJECT = Path(__file__).parent / "own_project"
SECONDS = 900


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A copy of the project in a folder with tests, as in a checkout; nothing is left of its processes."""
    folder = tmp_path / "own_project"
    (tmp_path / "conftest.py").write_text("import no_such_module\n")
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    for process in processes_with(f"HERMES_JOBS_HOME={folder}/home"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.timeout(2 * SECONDS)
def test_its_readme_works_word_by_word(folder: Path, tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```console\n(.*?)^```", (folder / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    lines = [line.removeprefix("$ ").replace("../../..", str(ROOT)) for line in "".join(blocks).splitlines()]
    environ = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "NEWSROOM_REDIS": REDIS_URL,
    }
    install, rest = lines[:2], lines[2:]
    constraints = str(ROOT / "constraints.txt")
    constraint = {"PIP_CONSTRAINT": constraints, "UV_CONSTRAINT": constraints}
    if (
        _ran(["uv --version"], folder, dict(os.environ)).returncode == 0
    ):  # a tenth of pip's time, as in the Makefile
        install = [
            "uv venv --quiet --seed .venv",
            install[1].replace(".venv/bin/pip install", "uv pip install --python .venv/bin/python"),
        ]
    if _ran(install, folder, {**os.environ, **constraint}).returncode and not os.environ.get("CI"):
        pytest.skip("Packages cannot be installed.")
    ran = _ran(rest, folder, environ)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout
    assert "published (read, newsroom_tools)" in ran.stdout
    assert (
        len(re.findall("^You said: .Which of these", ran.stdout, re.MULTILINE)) == 3
    )  # and published, and read
    assert "is down" in ran.stdout


def _ran(lines: list[str], folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The lines as one shell runs them, up to the first that fails."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
