"""Service managers for `up`: systemd on Linux, launchd on macOS.

A unit names the program by its absolute path and the home in its environment, and holds no secret. Both
managers have the same methods, which raise `Rejected` with the manager's message.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hermes_jobs.errors import Rejected
from hermes_jobs.system.atomic_file import write_bytes

Manager = Literal["systemd", "launchd"]

RESTART_SECONDS = 10
WITHOUT_SYSTEMD = (
    "In a container let `hermes-jobs up` be its command (see docker-compose.yml); elsewhere run "
    "`hermes-jobs up -d` at the start of your session. `service install --print` shows the unit anyway."
)


class Service(NamedTuple):
    """The data of one home's service. `name` differs between homes."""

    name: str
    program: tuple[str, ...]
    environ: Mapping[str, str]
    folder: Path
    log: Path
    stop_seconds: int


class Systemd:
    """The systemd of the user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @staticmethod
    def text(service: Service) -> str:
        """The unit, as it is written into its file."""
        # https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html
        pairs = (f"{name}={value}" for name, value in service.environ.items())
        environ = "\n".join(f"Environment={_quoted(pair)}" for pair in pairs)
        program = " ".join(_quoted(word).replace("$", "$$") for word in service.program)
        return f"""\
[Unit]
Description=hermes-jobs: worker, schedules and dashboard of one home

[Service]
Type=exec
ExecStart={program}
{environ}
WorkingDirectory={_escaped(str(service.folder))}
Restart=on-failure
RestartSec={RESTART_SECONDS}
# Wrong usage or configuration, and refused credentials: trying again would not help.
RestartPreventExitStatus=2 4
# SIGTERM goes only to the supervisor, which lets its processes finish what they write.
KillMode=mixed
TimeoutStopSec={service.stop_seconds}

[Install]
WantedBy=default.target
"""

    def check(self) -> None:
        """Raise `Rejected` if this host does not have the manager."""
        if shutil.which("systemctl", path=self._environ.get("PATH")) is None:
            raise Rejected("There is no systemd here.", kind="no_systemd", hint=WITHOUT_SYSTEMD)
        process = self._run("show", "--property=Version")
        if process.returncode != 0:
            raise Rejected(
                f"systemd runs no services of this user here: {_output_of(process)}",
                kind="no_systemd",
                hint=WITHOUT_SYSTEMD,
            )

    def file(self, name: str) -> Path:
        """The path of the unit, whether it exists or not."""
        home = Path(self._environ.get("HOME") or Path.home())
        base = self._environ.get("XDG_CONFIG_HOME") or str(home / ".config")
        return Path(base) / "systemd" / "user" / f"{name}.service"

    def install(self, service: Service) -> Path:
        """Write the unit, start the service now and at every login; the unit's file. Raises `Rejected`."""
        file, before = self.file(service.name), None
        if file.exists():
            before = file.read_bytes()
        _write(file, self.text(service))
        try:
            self._must("daemon-reload")
            self._must("enable", file.name)
            self._must("restart", file.name)
        except Rejected:
            _put_back(file, before)
            self._run("daemon-reload")
            raise
        return file

    def remove(self, name: str) -> None:
        """Stop the service and remove its unit. Raises `Rejected`."""
        file = self.file(name)
        self._must("disable", "--now", file.name)
        file.unlink(missing_ok=True)
        self._must("daemon-reload")

    def is_running(self, name: str) -> bool:
        """Whether the service runs."""
        return self._run("is-active", "--quiet", f"{name}.service").returncode == 0

    def remarks(self) -> Sequence[str]:
        """Further notes for the user."""
        return ("It ends when you log out; to let it run always: loginctl enable-linger",)

    def logs(self, name: str) -> str:
        """The command that shows its log."""
        return f"What it says: journalctl --user -u {name}"

    def _must(self, *arguments: str) -> None:
        process = self._run(*arguments)
        if process.returncode != 0:
            raise Rejected(
                f"`systemctl --user {' '.join(arguments)}` failed: {_output_of(process)}", kind="systemd"
            )

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _run(["systemctl", "--user", *arguments], self._environ)


class Launchd:
    """The launchd of the user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._domain = f"gui/{os.getuid()}"

    @staticmethod
    def text(service: Service) -> str:
        """The unit, as it is written into its file (launchd.plist(5))."""
        return plistlib.dumps(
            {
                "Label": service.name,
                "ProgramArguments": list(service.program),
                "EnvironmentVariables": dict(service.environ),
                "WorkingDirectory": str(service.folder),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": RESTART_SECONDS,
                "ExitTimeOut": service.stop_seconds,
                "ProcessType": "Background",
                "StandardOutPath": str(service.log),
                "StandardErrorPath": str(service.log),
            },
            sort_keys=False,
        ).decode()

    def check(self) -> None:
        """Raise `Rejected` if this host does not have the manager."""
        if shutil.which("launchctl", path=self._environ.get("PATH")) is None:
            raise Rejected("There is no launchd here.", kind="no_launchd", hint=WITHOUT_SYSTEMD)

    def file(self, name: str) -> Path:
        """The path of the unit, whether it exists or not."""
        home = Path(self._environ.get("HOME") or Path.home())
        return home / "Library" / "LaunchAgents" / f"{name}.plist"

    def install(self, service: Service) -> Path:
        """Write the unit, start the service now and at every login; the unit's file. Raises `Rejected`."""
        file = self.file(service.name)
        before = file.read_bytes() if file.exists() else None
        if before is not None:
            self._run("bootout", f"{self._domain}/{service.name}")
        _write(file, self.text(service))
        process = self._run("bootstrap", self._domain, str(file))
        if process.returncode != 0:
            _put_back(file, before)
            raise Rejected(f"`launchctl bootstrap` failed: {_output_of(process)}", kind="launchd")
        return file

    def remove(self, name: str) -> None:
        """Stop the service and remove its unit."""
        self._run("bootout", f"{self._domain}/{name}")
        self.file(name).unlink(missing_ok=True)

    def is_running(self, name: str) -> bool:
        """Whether the service runs."""
        process = self._run("print", f"{self._domain}/{name}")
        return process.returncode == 0 and "state = running" in process.stdout

    def remarks(self) -> Sequence[str]:
        """Further notes for the user."""
        return ()

    def logs(self, name: str) -> str:
        """The command that shows its log."""
        return "What it says: logs/service.log in the home"

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _run(["launchctl", *arguments], self._environ)


MANAGERS: Mapping[Manager, type[Systemd] | type[Launchd]] = {"systemd": Systemd, "launchd": Launchd}


def _run(command: Sequence[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    program = shutil.which(command[0], path=environ.get("PATH")) or command[0]
    return subprocess.run(
        [program, *command[1:]], env=dict(environ), capture_output=True, text=True, check=False
    )


def _output_of(process: subprocess.CompletedProcess[str]) -> str:
    return (
        process.stderr.strip() or process.stdout.strip() or f"exit code {process.returncode}"
    ).splitlines()[0]


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(file, text.encode())


def _put_back(file: Path, before: bytes | None) -> None:
    if before is None:
        file.unlink(missing_ok=True)
    else:
        _write(file, before.decode())


def _quoted(text: str) -> str:
    """Quote a word of a unit."""
    # https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines
    inner = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
