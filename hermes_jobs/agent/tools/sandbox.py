"""The sandbox plan of a command: hidden paths, and the kernel feature that hides them."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH110, PTH118

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from hermes_jobs.agent.tools.path_policy import READABLE, PathPolicy, is_inside
from hermes_jobs.agent.tools.sandbox_layer import NONE, SandboxPlan
from hermes_jobs.agent.tools.sensitive_paths import escapes, secret_places, startup_places
from hermes_jobs.agent.tools.tool import ToolFailed

LAYER_SCRIPT = Path(__file__).with_name("sandbox_layer.py")
PROBE_SECONDS = 10

Mode = Literal["auto", "on", "off"]


@dataclass(frozen=True, kw_only=True)
class SandboxReach:
    """The access of a command beyond the default: `everything`, for approved commands that cannot work in
    a sandbox; else the places in `visible`, where `None` means all but the home. `approved`: a person has
    approved it, and it may write startup files."""

    everything: bool = False
    visible: tuple[str, ...] | None = ()
    approved: bool = False


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The layer that this machine offers, by the names in `sandbox_layer`, and why no better one."""

    name: str
    why: str = ""


@cache
def layer() -> Layer:
    """Detect it, once in a process, by hiding a file and trying to open it."""
    with tempfile.TemporaryDirectory() as folder:
        real = os.path.realpath(folder)
        Path(real, "file").touch()
        try:
            process = subprocess.run(
                [sys.executable, "-I", "-S", str(LAYER_SCRIPT), real],
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Layer(name=NONE, why=str(error))
    name, _, reason = process.stdout.strip().partition("\n")
    return Layer(name=name or NONE, why=reason or process.stderr.strip()[-200:])


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """`visible` are places that are hidden by default but visible to commands."""

    paths: PathPolicy
    mode: Mode = "auto"
    visible: tuple[str, ...] = ()

    def plan(self, workdir: str, reach: SandboxReach) -> str:
        """The sandbox of a command as the supervisor reads it; empty for none. Raises `ToolFailed`."""
        home, real = self._checked(workdir)
        if self.mode == "off" or reach.everything:
            return ""
        detected = layer()
        if detected.name == NONE:
            if self.mode == "auto":
                return ""
            raise ToolFailed(
                f"terminal.sandbox is on, and this host has no sandbox ({detected.why}). Nothing was run. "
                "Tell the user."
            )
        hidden, locked = self._hidden(reach), self._locked(reach)
        return SandboxPlan(
            detected.name,
            home,
            [os.path.join(home, name) for name in READABLE],
            [path for path in hidden if not is_inside(real, path) and not is_inside(home, path)],
            [path for path in locked if not is_inside(real, path) and not is_inside(home, path)],
        ).encode()

    def hidden_in(self, workdir: str, reach: SandboxReach) -> tuple[str, ...]:
        """The paths of the working folder that a container must not see, outermost first. Raises
        `ToolFailed`."""
        home, real = self._checked(workdir)
        places = sorted({home, *self._hidden(reach)})
        inside = [place for place in places if is_inside(place, real) and os.path.exists(place)]
        return tuple(
            path for path in inside if not any(is_inside(path, one) for one in inside if one != path)
        )

    def _checked(self, workdir: str) -> tuple[str, str]:
        """The real paths of the home and the working folder. Raises `ToolFailed` if the home is the working
        folder."""
        home, real = os.path.realpath(self.paths.home), os.path.realpath(workdir)
        if is_inside(real, home):
            raise ToolFailed(
                f"the working folder {workdir} lies in the home of hermes-jobs, which no command reaches. "
                "Nothing was run. Tell the user to work in another folder."
            )
        return home, real

    def _hidden(self, reach: SandboxReach) -> list[str]:
        if reach.visible is None:
            return []
        user_home = self.paths.user_home
        visible = (*self.visible, *reach.visible)
        visible_paths = [
            os.path.realpath(os.path.join(user_home, place.removeprefix("~/"))) for place in visible
        ]
        places = (*secret_places(user_home), *escapes(os.getuid()))
        return [place for place in places if not any(is_inside(place, one) for one in visible_paths)]

    def _locked(self, reach: SandboxReach) -> list[str]:
        return [] if reach.approved else list(startup_places(self.paths.user_home))
