"""What is installed is all that there is, and works: from a wheel, and from a git address."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from hermes_jobs import __version__
from tests.processes import ROOT
from tests.tables import nightly, slow

PACKAGES = ("hermes_jobs", "workers", "schedules")


def built(folder: Path) -> Path:
    """The wheel of this source."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_every_file_of_its_packages(tmp_path: Path) -> None:
    wheel = built(tmp_path)
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    there = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert names == there
    assert "hermes_jobs/interfaces/html/templates/report.html" in names


@pytest.mark.parametrize("source", [*slow("wheel"), *nightly("git")])
def test_it_works_where_nothing_but_it_is_installed(tmp_path: Path, source: str) -> None:
    """In an environment of its own, without this source, a shell's settings or a home. Its dependencies are
    those that are here: the test needs no network."""
    if source == "git" and not (ROOT / ".git").exists():
        pytest.skip("this source is not a checkout")
    place = str(built(tmp_path)) if source == "wheel" else f"git+{ROOT.as_uri()}"
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False)
    own = next((bare / "lib").glob("python*/site-packages"))
    # A path in a .pth file is searched, but what other .pth files there lead to is not: this source.
    (own / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(bare),
        "install",
        "--no-deps",
        "--no-build-isolation",
    ]
    done = subprocess.run(
        [*install, "--no-index", "--ignore-installed", "-q", place],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (own / "hermes_jobs" / "__init__.py").exists()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(bare / "bin" / "hermes-jobs"), *arguments],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert f"version {__version__}" in run("--version").stdout
    answered = run("send", "Hello")
    assert (answered.returncode, "No language model" in answered.stdout) == (0, True), answered.stderr
    report = tmp_path / "report.html"
    assert run("report", "--html", str(report)).returncode == 0
    assert "<html" in report.read_text()
    unit = run("service", "install", "--print").stdout
    assert f'ExecStart="{bare / "bin" / "hermes-jobs"}" "up"' in unit
