"""What a container shows of the working folder, as mounts, and the check that it got those and no others.

The engine looks up each path when it starts the container, and follows links: a process that changes the
folder at that moment could have it mount something else, such as the keys of the host, or leave a place
uncovered. So a shell in the container looks at its mounts before it runs the command.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH110, PTH112, PTH120

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sandbox_places import folders_above
from hermes_jobs.tools.tool import ToolFailed

_UNMOUNTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
MAX_BYTES = 70_000
"""Of the mounts of locked places: a command line has an end."""

NOTHING_RUN = "Nothing was run.\n"
"""The end of what it says where the check fails."""

CHECK = r"""
(
    LC_ALL=C
    shift
    while read -r id parent device root point rest; do
        eval "d$id=\$device r$id=\$root p$id=\$point"
    done < /proc/self/mountinfo
    while read -r id parent device root point rest; do
        number=0
        for path; do
            number=$((number + 1))
            case "$path" in
                "-$point") eval "found$number=yes" ;;
                "=$point")
                    eval "d=\$d$parent r=\$r$parent p=\$p$parent"
                    wanted="${r%/}${point#"${p%/}"}"
                    case "$rest" in *" - nfs"*) wanted=/ ;; esac  # which calls every root so
                    [ "$device $root" = "$d ${wanted:-/}" ] && eval "found$number=yes"
                    ;;
            esac
        done
    done < /proc/self/mountinfo
    number=0
    for path; do
        number=$((number + 1))
        eval "[ \"\$found$number\" = yes ]" || exit 1
    done
) || {
    echo 'A protected place of the working folder was moved while the container was started: something' \
        'that runs in the folder may do that. Nothing was run.'
    exit 125
}
exec 2>&1
exec "$0" -c "$1"
"""
"""A script of sh, whose arguments are the command and the mounts that must be there, spelled as in
/proc/self/mountinfo. One that begins with `=` must show its own place in the mount in which it lies."""


@dataclass(frozen=True, kw_only=True)
class ContainerPlaces:
    """Paths of the host within the working folder. Its real path is `real`, in the container it is `workdir`.

    `writable` is the folder itself or parts of it; `pinned` folders cannot be moved, `locked` places not be
    written either; in the place of `hidden` ones there is nothing. `whole`: nothing had to be left unlocked.
    """

    workdir: str
    real: str
    writable: Sequence[str]
    pinned: Sequence[str] = ()
    locked: Sequence[str] = ()
    hidden: Sequence[str] = ()
    whole: bool = field(default=True)

    @classmethod
    def of(
        cls, workdir: str, roots: Sequence[str], locked: Iterable[str], hidden: Iterable[str]
    ) -> ContainerPlaces:
        """Those of a folder in which `roots` are written, but for `locked` places."""
        real = os.path.realpath(workdir)
        covered = _outermost(path for path in hidden if is_inside(path, real) and os.path.exists(path))
        wanted = [
            path
            for path in dict.fromkeys(locked)
            if any(is_inside(path, root) for root in roots)
            and path != real
            and not any(is_inside(path, each) for each in covered)
        ]
        kept = list(_within_limit(wanted, roots))
        above = folders_above([*kept, *covered], roots)
        return cls(
            workdir=workdir,
            real=real,
            writable=roots,
            pinned=[path for path in above if path not in kept and path not in roots],
            locked=[path for path in kept if path not in covered],
            hidden=covered,
            whole=kept == wanted,
        )

    def mounts(self) -> Iterator[str]:
        """The values of `--mount`. Raises `ToolFailed` for a name that Docker does not take."""
        for path in (self.workdir, self.real, *self.hidden):
            if not is_mountable(path):
                raise ToolFailed(f"Docker cannot take the name {path!r}. Nothing was run. Tell the user.")
        whole = self.real in self.writable
        yield self._mount(self.real, *([] if whole else ["readonly"]))
        for path in (*self.writable, *self.pinned):
            if path not in (self.real, *self.locked):
                yield self._mount(path)
        for path in self.locked:
            yield self._mount(path, "readonly")
        for path in self.hidden:
            yield self._cover(path)

    def script(self, shell: str, command: str) -> tuple[str, ...]:
        """The arguments of a shell that looks at the mounts and runs the command."""
        same = {*self.writable, *self.pinned, *self.locked} - {self.real}
        own = (f"={self._spelled(path)}" for path in sorted(same))
        covered = (f"-{self._spelled(path)}" for path in self.hidden)
        return ("-c", CHECK, shell, command, *own, *covered)

    def _target(self, path: str) -> str:
        return f"{self.workdir.rstrip('/')}{path[len(self.real) :]}"

    def _mount(self, path: str, *options: str) -> str:
        return _csv("type=bind", f"source={path}", f"target={self._target(path)}", *options)

    def _cover(self, path: str) -> str:
        """An empty file or folder over the path."""
        if os.path.isdir(path):
            return _csv("type=tmpfs", f"target={self._target(path)}", "tmpfs-mode=0555")
        return _csv("type=bind", "source=/dev/null", f"target={self._target(path)}", "readonly")

    def _spelled(self, path: str) -> str:
        return re.sub(r"[ \t\n\\]", lambda found: f"\\{ord(found[0]):03o}", self._target(path))


def is_mountable(path: str) -> bool:
    """Whether Docker takes a path: it needs UTF-8, and a line of CSV."""
    return _UNMOUNTABLE.search(path) is None


def _within_limit(paths: Iterable[str], roots: Sequence[str]) -> Iterator[str]:
    """The first ones, as far as they and the folders above them can be mounted."""
    left, counted = MAX_BYTES, set(roots)
    for path in filter(is_mountable, paths):
        above = path
        while above not in counted and above != "/":
            counted.add(above)
            left -= 3 * len(above) + 60  # as source and target, and in the check
            above = os.path.dirname(above)
        if left < 0:
            return
        yield path


def _outermost(paths: Iterable[str]) -> list[str]:
    found: list[str] = []
    for path in sorted(set(paths)):
        if not any(is_inside(path, each) for each in found):
            found.append(path)
    return found


def _csv(*fields: str) -> str:
    """Docker reads the option as a line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
