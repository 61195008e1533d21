"""What a command sees and may write, by place: the paths of a sandbox's plan."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH114, PTH118, PTH120, PTH208

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hermes_jobs.tools import installation, listening_sockets
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.sandbox_plan import TEMPORARY
from hermes_jobs.tools.sensitive_paths import (
    paths_in,
    secret_places,
    socket_path,
    sockets,
    startup_places,
    system_folders,
    system_places,
)

MAX_CHILDREN = 400  # of a home folder that is the working folder: a command line has an end
SHARED = ("/dev/shm", "/run/user")
"""Where programs make sockets, beside the home. What the person has in `TEMPORARY` no command sees."""


@dataclass(frozen=True, kw_only=True)
class SandboxReach:
    """The access of a command beyond the default: `everything`, for approved commands that cannot work in
    a sandbox; else the places in `visible`, where `None` means all but the home. `approved`: a person has
    approved it, and it may write all but the home and the installation. `system`: what was approved changes
    the system, such as software: it sees its keys.

    A place that begins with `$` is the service which that variable of the session names: `$SSH_AUTH_SOCK`.
    """

    everything: bool = False
    visible: tuple[str, ...] | None = ()
    approved: bool = False
    system: bool = False


@dataclass(frozen=True, kw_only=True)
class Places:
    """Those of one machine. `visible` are hidden by default but visible to commands."""

    paths: PathPolicy
    visible: tuple[str, ...] = ()

    def seen(self, reach: SandboxReach, environ: Mapping[str, str]) -> list[str]:
        """The real paths that are hidden by default and visible to this command."""
        places = [place for place in (*self.visible, *(reach.visible or ())) if not place.startswith("$")]
        services = [path for name in self.named(reach) if (path := socket_path(environ.get(name[1:], "")))]
        return [self.real(place) for place in (*places, *services)]

    def named(self, reach: SandboxReach) -> list[str]:
        """The visible services of the session, by their variables."""
        return [place for place in (*self.visible, *(reach.visible or ())) if place.startswith("$")]

    def hidden(self, reach: SandboxReach, environ: Mapping[str, str], seen: Sequence[str]) -> list[str]:
        """The real paths of keys and of services of the session, but for those within `seen` places."""
        if reach.visible is None:
            return []
        user_home = self.paths.user_home
        system = system_places(user_home, others_only=reach.system)
        places = (*secret_places(user_home), *sockets(user_home, environ), *system)
        return [place for place in places if not any(is_inside(place, one) for one in seen)]

    def listening(self, reach: SandboxReach, folders: Sequence[str], covered: Sequence[str]) -> list[str]:
        """The real paths of sockets of the person's servers in the home, in `folders`, and where all
        programs make some; without those in `covered` places."""
        if reach.visible is None:
            return []
        return listening_sockets.outside((self.paths.user_home, *SHARED, *folders), covered)

    def reaches_sockets(self, reach: SandboxReach, environ: Mapping[str, str], seen: Sequence[str]) -> bool:
        """Whether the command sees a service of the session, and so has to use local sockets."""
        if reach.everything or reach.visible is None or self.named(reach):
            return True
        services = list(sockets(self.paths.user_home, environ))
        return any(is_inside(one, each) or is_inside(each, one) for one in services for each in seen)

    def protected(self, path: str) -> tuple[str, ...]:
        """What stays read-only wherever it lies: the installation, programs, files that run by themselves."""
        folders = installation.program_folders(path)
        return tuple(dict.fromkeys((*installation.places(), *folders, *startup_places(self.paths.user_home))))

    def absent(self, path: str, roots: Sequence[str]) -> list[str]:
        """What `protected` would name in these folders if it were there."""
        startup = (os.path.join(self.paths.user_home, place) for place in paths_in("startup"))
        places = (*map(os.path.realpath, startup), *installation.missing_program_folders(path))
        inside = [place for place in places if any(is_inside(place, root) for root in roots)]
        return [place for place in inside if not os.path.lexists(place)]

    def roots(self, folders: Sequence[str], protected: Sequence[str], declared: Sequence[str]) -> list[str]:
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

    def real(self, place: str) -> str:
        """The real path of a place, which counts from the person's home."""
        return os.path.realpath(os.path.join(self.paths.user_home, place.removeprefix("~/")))


def folders_above(locked: Sequence[str], roots: Sequence[str]) -> list[str]:
    """The folders between a writable place and a locked one in it, outermost first: moved away, they would
    take the locked place with them and make room for another one."""
    found: dict[str, bool] = {}
    for path in locked:
        for root in roots:
            folder = os.path.dirname(path)
            while folder not in found and is_inside(folder, root) and folder not in (root, "/"):
                found[folder] = os.access(os.path.dirname(folder), os.W_OK)
                folder = os.path.dirname(folder)
    return sorted(folder for folder, is_movable in found.items() if is_movable)


def within_temporary(places: Sequence[str]) -> list[str]:
    """Those that a private folder for temporary files would cover."""
    return sorted({place for place in places if any(place.startswith(f"{folder}/") for folder in TEMPORARY)})
