"""The sandbox of a command: what it sees and may write, and the kernel feature that enforces it.

Write access is by place: the working folder, a private folder for temporary files, a cache of the agent's
own, and declared paths. Within these the installation, the folders of programs and files that run by
themselves stay read-only.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH103, PTH110, PTH118, PTH120, PTH211

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from hermes_jobs.tools import guarded_files, installation
from hermes_jobs.tools.container_places import ContainerPlaces
from hermes_jobs.tools.environment import cache_variables, without_session
from hermes_jobs.tools.folder_guard import Guard, locks_repositories
from hermes_jobs.tools.folder_guard import locked as guarded_places
from hermes_jobs.tools.git_named import named_in
from hermes_jobs.tools.git_places import git_folders
from hermes_jobs.tools.guarded_files import Found
from hermes_jobs.tools.hidden_modes import modes_of
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.path_policy import READABLE, PathPolicy
from hermes_jobs.tools.sandbox_places import Places, SandboxReach, folders_above, within_temporary
from hermes_jobs.tools.sandbox_plan import LANDLOCK, NAMESPACE, NONE, SandboxPlan
from hermes_jobs.tools.sensitive_paths import devices, linked
from hermes_jobs.tools.tool import ToolFailed

LAYER_SCRIPT = Path(__file__).with_name("sandbox_layer.py")
PROBE_SECONDS = 10

Mode = Literal["auto", "on", "off"]


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
        background: bool = False,
        found: Found | None = None,
    ) -> Enclosure:
        """How a process with that working folder starts.

        `environ` is its environment outside of a sandbox. Processes with the same `scratch` (a session, an
        MCP server) share temporary files. It may also write `places`. `command` is the text that a shell is
        to run, `background` where nobody waits for its end, and
        `found` what `guarded_files` found in its folders. A `guest` does not write its working folder, sees
        nothing of the home, and has a cache of its `scratch`. Raises `ToolFailed`.
        """
        home, real = self._checked(workdir)
        name = self._layer(reach)
        declared = [self._places.real(place) for place in (*self.writable, *places)]
        cache_folder = "" if self.mode == "off" else self._folder("cache", scratch if guest else real)
        variables = self._variables(reach, environ, cache_folder, declared)
        if name == NONE:
            return Enclosure(plan="", environment=variables)
        tmp = self._folder("tmp", scratch)
        variables = {key: value for key, value in variables.items() if key != "TMPDIR"}
        variables |= {"TMPDIR": tmp} if name == LANDLOCK else {}
        roots, locked = self._written(workdir, reach, environ, declared, guest)
        if name == NAMESPACE and not reach.approved:
            locked += guarded_places(found or guarded_files.find(roots), command, background=background)
            locked += guarded_places(guarded_files.find(declared), command) if declared else []
        seen = self._places.seen(reach, environ)
        hidden = self._places.hidden(reach, environ, seen)
        hidden = [path for path in hidden if not self._is_projects_socket(path, real)]
        kept = within_temporary((*roots, *seen, self.paths.user_home, *locked))
        if name == NAMESPACE:
            hidden += self._places.listening(reach, (real, *roots, *kept), (home, *hidden, *seen))
        within = [path for path in locked if reach.approved or any(is_inside(path, root) for root in roots)]
        covered = [home, *([] if reach.approved else hidden)]
        plan = SandboxPlan(
            name,
            home,
            tmp=tmp,
            shown=[] if guest else [os.path.join(home, each) for each in READABLE],
            kept=kept,
            hidden=[path for path in hidden if not is_inside(real, path) and not is_inside(home, path)],
            seen=[path for path in seen if any(is_inside(path, place) for place in hidden)],
            writable=[*([] if reach.approved else roots), cache_folder],
            pinned=folders_above([*within, *covered], ["/"] if reach.approved else roots),
            locked=[path for path in within if not is_inside(home, path)],
            devices=[] if reach.approved else devices(),
            open=reach.approved,
            sockets=self._places.reaches_sockets(reach, environ, seen),
            network=network,
        )
        return Enclosure(plan=plan.encode(), environment=variables)

    def _is_projects_socket(self, path: str, workdir: str) -> bool:
        """Whether it is a socket that the project's own programs have made."""
        is_own = is_inside(path, workdir) and not is_inside(os.path.realpath(self.paths.user_home), workdir)
        return is_own and Path(path).is_socket()

    def _variables(
        self, reach: SandboxReach, environ: Mapping[str, str], cache_folder: str, declared: Sequence[str]
    ) -> dict[str, str]:
        """The environment: without services of the session, and with caches of the agent's own."""
        sees_all = reach.everything or reach.visible is None
        variables = dict(environ) if sees_all else without_session(environ, self._places.named(reach))
        if not cache_folder:
            return variables
        _link(cache_folder, self.paths.user_home, reach.visible or ())
        variables |= cache_variables(variables, cache_folder, self.paths.user_home, keep=declared)
        if reach.visible:  # a program that sees keys takes no package manager out of the agent's cache
            variables["COREPACK_HOME"] = str(Path(self.paths.user_home, ".cache/node/corepack"))
        return variables

    def _written(
        self,
        workdir: str,
        reach: SandboxReach,
        environ: Mapping[str, str],
        declared: Sequence[str],
        guest: bool,
    ) -> tuple[list[str], list[str]]:
        """The places that a command writes, and what stays read-only within them."""
        protected = self._protected(reach, environ)
        folders = () if guest else (os.path.realpath(workdir), *self.paths.real_roots(workdir))
        roots = self._places.roots(folders, protected, declared)
        if not (reach.approved or guest):
            stores = list(git_folders(workdir))
            roots += [path for path in stores if not any(is_inside(path, root) for root in roots)]
        return roots, list(protected)

    def _protected(self, reach: SandboxReach, environ: Mapping[str, str]) -> tuple[str, ...]:
        return installation.places() if reach.approved else self._places.protected(environ.get("PATH", ""))

    def in_container(
        self,
        workdir: str,
        reach: SandboxReach,
        environ: Mapping[str, str],
        command: str = "",
        *,
        background: bool = False,
        found: Found | None = None,
    ) -> ContainerPlaces:
        """What a container shows of the working folder; the arguments are those of `enclose`. Raises
        `ToolFailed`."""
        home, real = self._checked(workdir)
        protected = list(self._protected(reach, environ))
        roots = [real] if reach.approved else self._places.roots((real,), protected, ())
        if not reach.approved:
            protected += guarded_places(found or guarded_files.find([real]), command, background=background)
        shown = reach if reach.visible is None else SandboxReach()
        seen = self._places.seen(shown, environ)
        hidden = self._places.hidden(shown, environ, seen)
        hidden += self._places.listening(shown, (real,), (home, *hidden, *seen))
        return ContainerPlaces.of(workdir, roots, protected, [home, *hidden])

    def confines(self) -> bool:
        """Whether there is a sandbox that confines commands without an approval."""
        return self.mode != "off" and layer().name != NONE

    def guarded_roots(self, workdir: str) -> tuple[str, ...]:
        """The folders whose guarded files a command may come to, outermost ones only."""
        roots = [os.path.realpath(workdir), *self.paths.real_roots(workdir), *git_folders(workdir)]
        outermost = [path for path in roots if not any(is_inside(path, one) for one in roots if one != path)]
        return tuple(dict.fromkeys(outermost))

    def found(self, roots: Sequence[str]) -> Found:
        """The guarded files in these folders, with those that settings of git name."""
        found = guarded_files.find(roots)
        return replace(found, named=named_in(roots, found.repositories, self.paths.user_home))

    def guard(
        self,
        roots: Sequence[str],
        found: Found,
        command: str = "",
        *,
        background: bool = False,
        locked: bool | None = None,
        path: str = "",
        instructions: bool = False,
    ) -> Guard:
        """What undoes changes of what was `found` in these folders, and new files; also without a sandbox.

        `locked`: whether the command cannot change what was there; None: as the layer can. `path`: its
        PATH. `instructions`: files that later prompts have are guarded, too."""
        by_kernel = (self.mode != "off" and layer().name == NAMESPACE) if locked is None else locked
        only_new = by_kernel and locks_repositories(command, background=background)
        home = os.path.realpath(self.paths.home)
        absent = self._places.absent(path, roots)
        guard = Guard.of(roots, found, home, only_new=only_new, instructions=instructions, absent=absent)
        if self.mode == "off" or locked is not None or layer().name != LANDLOCK:
            return guard
        usual, places = SandboxReach(), self._places
        hidden = places.hidden(usual, {}, places.seen(usual, {}))
        return msgspec.structs.replace(guard, modes=modes_of((self.paths.user_home, home, *hidden)))

    @property
    def _places(self) -> Places:
        return Places(paths=self.paths, visible=self.visible)

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
        for each in (os.path.dirname(folder), folder):
            os.makedirs(each, mode=0o700, exist_ok=True)
        os.utime(folder)
        return folder


def _link(cache_folder: str, user_home: str, visible: Sequence[str]) -> None:
    """Let programs whose folder is a cache of the agent's find the credentials that the command sees."""
    for name, place in linked().items():
        link, target = os.path.join(cache_folder, name), os.path.join(user_home, place)
        folder = os.path.dirname(link)
        if place in visible and os.path.exists(target) and not os.path.lexists(link):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if os.path.realpath(folder) == folder:  # a command may have put a link there
                os.symlink(target, link)
