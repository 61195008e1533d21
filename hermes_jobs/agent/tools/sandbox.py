"""The sandbox of a command: what it sees and may write, and the kernel feature that enforces it.

Write access is by place: the working folder, a private folder for temporary files, a cache of the agent's
own, and declared paths. Within these the installation, the folders of programs and files that run by
themselves stay read-only.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH103, PTH110, PTH112, PTH114, PTH118, PTH120, PTH208

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from hermes_jobs.agent.tools import installation
from hermes_jobs.agent.tools.environment import cache_variables, without_session
from hermes_jobs.agent.tools.folder_guard import Guard, git_folders
from hermes_jobs.agent.tools.folder_guard import places as guarded_places
from hermes_jobs.agent.tools.path_policy import READABLE, PathPolicy, is_inside
from hermes_jobs.agent.tools.sandbox_plan import LANDLOCK, NAMESPACE, NONE, TEMPORARY, SandboxPlan
from hermes_jobs.agent.tools.sensitive_paths import (
    paths_in,
    secret_places,
    socket_path,
    sockets,
    startup_places,
    system_folders,
)
from hermes_jobs.agent.tools.tool import ToolFailed

LAYER_SCRIPT = Path(__file__).with_name("sandbox_layer.py")
PROBE_SECONDS = 10
MAX_CHILDREN = 400  # of a home folder that is the working folder: a command line has an end

Mode = Literal["auto", "on", "off"]


@dataclass(frozen=True, kw_only=True)
class SandboxReach:
    """The access of a command beyond the default: `everything`, for approved commands that cannot work in
    a sandbox; else the places in `visible`, where `None` means all but the home. `approved`: a person has
    approved it, and it may write all but the home and the installation.

    A place that begins with `$` is the service which that variable of the session names: `$SSH_AUTH_SOCK`.
    """

    everything: bool = False
    visible: tuple[str, ...] | None = ()
    approved: bool = False


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The layer that this machine offers, by the names in `sandbox_plan`, and why no better one."""

    name: str
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Enclosure:
    """How a process starts: its environment, and its `plan` as the supervisor reads it; empty: without a
    sandbox."""

    plan: str
    environment: Mapping[str, str]


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
    """`visible` are places that are hidden by default but visible to commands; `writable` are places outside
    the working folder that they may write."""

    paths: PathPolicy
    mode: Mode = "auto"
    visible: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()

    def enclose(  # noqa: PLR0913 - what a process may differ in
        self,
        workdir: str,
        reach: SandboxReach,
        environ: Mapping[str, str],
        *,
        scratch: str,
        places: Sequence[str] = (),
        command: str = "",
        network: bool = True,
        guest: bool = False,
    ) -> Enclosure:
        """How a process with that working folder starts.

        `environ` is its environment outside of a sandbox. Processes with the same `scratch` (a session, an
        MCP server) share temporary files. It may also write `places`. `command` is the text that a shell is
        to run. A `guest` does not write its working folder, sees nothing of the home, and has a cache of its
        `scratch`. Raises `ToolFailed`.
        """
        home, real = self._checked(workdir)
        layer_name = self._layer(reach)
        sees_all = reach.everything or reach.visible is None
        seen = self._seen(reach, environ)
        variables = dict(environ) if sees_all else without_session(environ, self._named(reach))
        if self.mode == "off":
            return Enclosure(plan="", environment=variables)
        cache_folder = self._folder("cache", scratch if guest else real)
        tmp = self._folder("tmp", scratch) if layer_name != NONE else ""
        declared = [self._real(place) for place in (*self.writable, *places)]
        variables |= cache_variables(variables, cache_folder, self.paths.user_home, keep=declared)
        if layer_name == NONE:
            return Enclosure(plan="", environment=variables)
        if layer_name == LANDLOCK:
            variables["TMPDIR"] = tmp
        else:
            variables.pop("TMPDIR", None)
        protected = installation.places() if reach.approved else self._protected(environ.get("PATH", ""))
        roots = self._roots(() if guest else (real, *self.paths.real_roots(workdir)), protected, declared)
        if not reach.approved:
            folders = [] if guest else list(git_folders(workdir))
            roots += [path for path in folders if not any(is_inside(path, root) for root in roots)]
            if layer_name == NAMESPACE:
                protected = (*protected, *guarded_places(roots, command))
        writable = [cache_folder] if reach.approved else [*roots, cache_folder]
        locked = [
            path for path in protected if reach.approved or any(is_inside(path, root) for root in roots)
        ]
        locked = [path for path in locked if not is_inside(home, path)]
        hidden = [] if reach.visible is None else self._hidden(environ, seen)
        plan = SandboxPlan(
            layer_name,
            home,
            tmp=tmp,
            shown=[] if guest else [os.path.join(home, name) for name in READABLE],
            kept=_within_temporary((*roots, *seen, self.paths.user_home, *protected)),
            hidden=[path for path in hidden if not is_inside(real, path) and not is_inside(home, path)],
            writable=writable,
            pinned=_above(locked, ["/"] if reach.approved else roots),
            locked=locked,
            open=reach.approved,
            sockets=sees_all or bool(self._named(reach)),
            network=network,
        )
        return Enclosure(plan=plan.encode(), environment=variables)

    def hidden_in(self, workdir: str, reach: SandboxReach) -> tuple[str, ...]:
        """The paths of the working folder that a container must not see, outermost first. Raises
        `ToolFailed`."""
        home, real = self._checked(workdir)
        places = sorted({home, *([] if reach.visible is None else self._hidden({}, self._seen(reach, {})))})
        inside = [place for place in places if is_inside(place, real) and os.path.exists(place)]
        return tuple(
            path for path in inside if not any(is_inside(path, one) for one in inside if one != path)
        )

    def locked_in(
        self, workdir: str, reach: SandboxReach, environ: Mapping[str, str], command: str
    ) -> tuple[str, ...]:
        """The paths of the working folder that a container cannot write."""
        real = os.path.realpath(workdir)
        if reach.approved:
            protected: Sequence[str] = installation.places()
        else:
            protected = (*self._protected(environ.get("PATH", "")), *guarded_places([real], command))
        return tuple(dict.fromkeys(path for path in protected if is_inside(path, real) and path != real))

    def guard(self, workdir: str, reach: SandboxReach) -> Guard | None:
        """What undoes changes of files that run by themselves; None for a command that may make them."""
        if reach.approved or self.mode == "off":
            return None
        roots = [os.path.realpath(workdir), *self.paths.real_roots(workdir), *git_folders(workdir)]
        outermost = [path for path in roots if not any(is_inside(path, one) for one in roots if one != path)]
        quarantine = os.path.join(os.path.realpath(self.paths.home), "quarantine")
        return Guard(list(dict.fromkeys(outermost)), quarantine)

    def _layer(self, reach: SandboxReach) -> str:
        """The layer for a process. Raises `ToolFailed` if there is none and there has to be one."""
        if self.mode == "off" or reach.everything:
            return NONE
        detected = layer()
        if detected.name == NONE and self.mode == "on":
            raise ToolFailed(
                f"terminal.sandbox is on, and this host has no sandbox ({detected.why}). Nothing was run. "
                "Tell the user."
            )
        return detected.name

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

    def _folder(self, kind: str, owner: str) -> str:
        """A folder of the home for what commands of one session or folder write; its time is that of its last
        use."""
        name = hashlib.sha256(owner.encode(errors="surrogateescape")).hexdigest()[:12]
        folder = os.path.join(os.path.realpath(self.paths.home), kind, name)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.utime(folder)
        return folder

    # --- what is seen ---------------------------------------------------------------------------------

    def _seen(self, reach: SandboxReach, environ: Mapping[str, str]) -> list[str]:
        """The real paths that are hidden by default and visible to this command."""
        places = [place for place in (*self.visible, *(reach.visible or ())) if not place.startswith("$")]
        services = [path for name in self._named(reach) if (path := socket_path(environ.get(name[1:], "")))]
        return [self._real(place) for place in (*places, *services)]

    def _named(self, reach: SandboxReach) -> list[str]:
        """The visible services of the session, by their variables."""
        return [place for place in (*self.visible, *(reach.visible or ())) if place.startswith("$")]

    def _hidden(self, environ: Mapping[str, str], seen: Sequence[str]) -> list[str]:
        user_home = self.paths.user_home
        places = (*secret_places(user_home), *sockets(user_home, environ))
        return [place for place in places if not any(is_inside(place, one) for one in seen)]

    # --- what is written ------------------------------------------------------------------------------

    def _protected(self, path: str) -> tuple[str, ...]:
        """What stays read-only wherever it lies: the installation, programs, files that run by themselves."""
        folders = installation.program_folders(path)
        return tuple(dict.fromkeys((*installation.places(), *folders, *startup_places(self.paths.user_home))))

    def _roots(self, folders: Sequence[str], protected: Sequence[str], declared: Sequence[str]) -> list[str]:
        """The places that can be written, outermost first."""
        chosen = dict.fromkeys(folders)
        startup = [os.path.join(self.paths.user_home, place) for place in paths_in("startup")]
        closed = (*protected, *startup, *system_folders())
        roots = [
            part
            for root in chosen
            if not any(is_inside(root, place) for place in closed)
            for part in self._parts(root)
        ]
        own = (*installation.places(), os.path.realpath(self.paths.home))
        roots += [place for place in declared if not any(is_inside(place, one) for one in own)]
        return sorted(dict.fromkeys(roots))

    def _parts(self, root: str) -> Iterator[str]:
        """What can be written of a folder: itself, or its content if new files in it could run by themselves.

        Those are a person's home folder, with its startup files, and a checkout that hermes-jobs runs from,
        in which Python looks for modules.
        """
        user_home = os.path.realpath(self.paths.user_home)
        if is_inside(user_home, root) and os.path.isdir(user_home):
            root = user_home
        elif not (installation.is_checkout() and root == installation.import_root()):
            yield root
            return
        paths = [
            os.path.join(root, name)
            for name in sorted(os.listdir(root))
            if not (name.startswith(".") and root == user_home)
        ]
        home = os.path.realpath(self.paths.home)
        yield from [path for path in paths if path != home and not os.path.islink(path)][:MAX_CHILDREN]

    def _real(self, place: str) -> str:
        return os.path.realpath(os.path.join(self.paths.user_home, place.removeprefix("~/")))


def _above(locked: Sequence[str], roots: Sequence[str]) -> list[str]:
    """The folders between a writable place and a locked one in it, outermost first: moved away, they would
    take the locked place with them and make room for another one."""
    above: dict[str, None] = {}
    for path in locked:
        for root in roots:
            folder = os.path.dirname(path)
            while is_inside(folder, root) and folder not in (root, "/"):
                if os.access(os.path.dirname(folder), os.W_OK):
                    above[folder] = None
                folder = os.path.dirname(folder)
    return sorted(above)


def _within_temporary(places: Sequence[str]) -> list[str]:
    """Those that a private folder for temporary files would cover."""
    return sorted({place for place in places if any(place.startswith(f"{folder}/") for folder in TEMPORARY)})
