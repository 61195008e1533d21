"""`service`: the units are what systemd and launchd read, hold no secret, and are installed whole or not."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.home import KEY, Home

PROGRAM = str(Path(sys.executable).with_name("hermes-jobs"))
SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$HOME/calls"
case "$*" in *"$(cat "$HOME/fails" 2>/dev/null || echo nothing)"*) echo "no such luck" >&2; exit 1;; esac
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose path needs quoting. Programs called systemctl and launchctl note how they are called."""
    folder = tmp_path / 'a "b" 100%'
    home = Home(folder, {"OPENAI_API_KEY": KEY})
    programs = folder / "bin"
    programs.mkdir()
    for name in ("systemctl", "launchctl"):
        (programs / name).write_text(SYSTEMCTL)
        (programs / name).chmod(0o700)
    home.environ["PATH"] = f"{programs}{os.pathsep}{home.environ['PATH']}"
    return home


def calls(home: Home) -> list[str]:
    file = Path(home.environ["HOME"]) / "calls"
    return file.read_text().splitlines() if file.exists() else []


def unit_of(home: Home) -> Path:
    [unit] = (Path(home.environ["HOME"]) / ".config" / "systemd" / "user").glob("*.service")
    return unit


def test_the_unit_names_the_program_and_the_home_and_holds_no_secret(home: Home) -> None:
    unit = home.run("service", "install", "--print").out
    assert f'ExecStart="{PROGRAM}" "up"' in unit
    quoted = str(home.path).replace('"', r"\"").replace("%", "%%")
    assert f'Environment="HERMES_JOBS_HOME={quoted}"' in unit
    assert "Restart=on-failure" in unit
    assert KEY not in unit
    assert "OPENAI" not in unit
    assert calls(home) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_reads_the_unit_as_it_is_meant(home: Home, tmp_path: Path) -> None:
    unit = tmp_path / "hermes-jobs.service"
    unit.write_text(home.run("service", "install", "--print").out)
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(unit)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_launchd_is_given_a_property_list(home: Home) -> None:
    read = plistlib.loads(home.run("service", "install", "--print", "--for", "launchd").out.encode())
    assert read["ProgramArguments"] == [PROGRAM, "up"]
    assert read["EnvironmentVariables"]["HERMES_JOBS_HOME"] == str(home.path)
    assert read["KeepAlive"] == {"SuccessfulExit": False}
    assert read["Label"].startswith("hermes-jobs-")
    assert KEY not in str(read)


@pytest.mark.skipif(sys.platform != "linux", reason="that of systemd")
def test_it_is_installed_shown_and_removed(home: Home) -> None:
    assert home.run("service", "status").err == "Not installed.\n"
    installed = home.run("service", "install")
    assert installed.code == 0, installed
    unit = unit_of(home)
    assert unit.read_text() == home.run("service", "install", "--print").out
    assert "OPENAI_API_KEY" in installed.err, "the service does not see this shell's key"
    assert KEY not in installed.err
    assert [call for call in calls(home) if "show" not in call] == [
        "--user daemon-reload",
        f"--user enable {unit.name}",
        f"--user restart {unit.name}",
    ]
    shown = home.run("service", "status", "--json").json
    assert shown == {"name": unit.stem, "file": str(unit), "installed": True, "running": True, "up": False}
    assert home.run("service", "remove").code == 0
    assert not unit.exists()
    assert f"--user disable --now {unit.name}" in calls(home)
    assert "no service" in home.run("service", "remove").err


@pytest.mark.skipif(sys.platform != "linux", reason="that of systemd")
def test_a_service_that_cannot_start_leaves_no_file(home: Home) -> None:
    (Path(home.environ["HOME"]) / "fails").write_text("enable")
    ran = home.run("service", "install")
    assert (ran.code, "no such luck" in ran.err) == (1, True)
    assert list((Path(home.environ["HOME"]) / ".config").rglob("*.service")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="that of systemd")
def test_without_a_user_systemd_it_gives_advice(home: Home) -> None:
    (Path(home.environ["HOME"]) / "fails").write_text("show")
    ran = home.run("service", "install")
    assert ran.code == 1
    assert "no such luck" in ran.err
    assert "In a container let `hermes-jobs up` be its command" in ran.err


def test_two_homes_have_two_services(home: Home) -> None:
    own = home.environ.pop("HERMES_JOBS_HOME")
    first = home.run("service", "status", "--json").json
    other = home.run("service", "status", "--json", HERMES_JOBS_HOME=own).json
    assert first["name"] == "hermes-jobs"
    assert other["name"] != first["name"]


def test_wrong_usage(home: Home) -> None:
    assert home.run("service", "install", "--for", "launchd").code == 2
