"""What is installed is all that there is: templates and marks are in the wheel, and nothing of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.processes import ROOT

PACKAGES = ("hermes_jobs", "workers", "schedules")


def test_the_wheel_holds_every_file_of_its_packages(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    there = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert names == there
    assert "hermes_jobs/interfaces/html/templates/report.html" in names
