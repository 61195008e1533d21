"""The plan of a sandbox as text, and the system calls that its layers share.

Imported between fork and exec of every command, so only modules that load fast.
"""

# Each import costs milliseconds of every command: pathlib is not worth its own here.
# ruff: noqa: PTH123

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module itself costs milliseconds
    from typing import Any

NAMESPACE, LANDLOCK, NONE = "namespace", "landlock", "none"
TEMPORARY = ("/tmp", "/var/tmp")
"""Where a private folder is mounted, if there is one."""
MARK = "hermes-jobs"
"""The source of the mount over the home, by which a process in a sandbox is known from outside."""

_ONE = ("layer", "home", "tmp")
_MANY = ("shown", "kept", "hidden", "seen", "writable", "pinned", "locked", "devices")
_FLAGS = ("open", "sockets", "network")


class SandboxFailed(Exception):
    """The sandbox could not be set up. The message names the step."""


class SandboxPlan:
    """What a process sees and may write. All paths are real and absolute.

    `home` is hidden but for its folders `shown`, which can be read; `hidden` files and folders are empty,
    but for what lies in them of `seen`. Only `writable` places can be written, and `tmp`, which is seen as
    `TEMPORARY`; within them not the `locked` ones, and no `pinned` folder can be moved away. `kept` are paths
    below `TEMPORARY` that stay visible. Of `/dev` there are `devices` only, and shared memory. With `open`
    everything but home and `locked` can be written, and processes outside be reached by signals. `sockets`:
    local sockets of other processes can be used; `network`: the network can.
    """

    def __init__(  # noqa: PLR0913 - what a sandbox consists of
        self,
        layer: str,
        home: str,
        *,
        tmp: str = "",
        shown: list[str] | None = None,
        kept: list[str] | None = None,
        hidden: list[str] | None = None,
        seen: list[str] | None = None,
        writable: list[str] | None = None,
        pinned: list[str] | None = None,
        locked: list[str] | None = None,
        devices: list[str] | None = None,
        open: bool = False,  # noqa: A002 - the name of the flag
        sockets: bool = False,
        network: bool = True,
    ) -> None:
        self.layer = layer
        self.home = home
        self.tmp = tmp
        self.shown = shown or []
        self.kept = kept or []
        self.hidden = hidden or []
        self.seen = seen or []
        self.writable = writable or []
        self.pinned = pinned or []
        self.locked = locked or []
        self.devices = devices or []
        self.open = open
        self.sockets = sockets
        self.network = network

    def encode(self) -> str:
        """One argument of a command line: a line for each value. Line breaks in a value are escaped."""
        lines = [f"{name} {_escaped(getattr(self, name))}" for name in _ONE]
        lines += [f"{name} {_escaped(path)}" for name in _MANY for path in getattr(self, name)]
        lines += [f"{name} {int(getattr(self, name))}" for name in _FLAGS]
        return "\n".join(lines)


def decode(text: str) -> SandboxPlan:
    """The plan that `encode` wrote."""
    fields: dict[str, list[str]] = {name: [] for name in (*_ONE, *_MANY, *_FLAGS)}
    for line in text.split("\n"):
        name, _, value = line.partition(" ")
        fields[name].append(_unescaped(value))
    many: dict[str, Any] = {name: fields[name] for name in _MANY}
    flags: dict[str, Any] = {name: fields[name] == ["1"] for name in _FLAGS}
    return SandboxPlan(fields["layer"][0], fields["home"][0], tmp=fields["tmp"][0], **many, **flags)


def _escaped(path: str) -> str:
    return path.replace("\\", r"\\").replace("\n", r"\n")


def _unescaped(text: str) -> str:
    return "\\".join(part.replace(r"\n", "\n") for part in text.split(r"\\"))


def load_libc() -> Any:
    """The C library, with the types of the functions that are used here."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount.argtypes = (*(ctypes.c_char_p,) * 3, ctypes.c_ulong, ctypes.c_char_p)
    libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    return libc


def check(result: int, what: str) -> int:
    """The result of a system call. Raises `SandboxFailed` if it failed."""
    if result < 0:
        import ctypes

        raise SandboxFailed(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def write(path: str, text: str) -> None:
    """Write a file of /proc. Raises `SandboxFailed`."""
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise SandboxFailed(f"{path}: {error.strerror}") from error
