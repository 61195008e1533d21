"""The sandbox by mounts: a mount namespace in which all is read-only but what the plan names.

Without root it is made by way of a user namespace. Needs Linux 5.12. Sources: mount_namespaces(7),
user_namespaces(7), mount_setattr(2), open_tree(2), move_mount(2), capabilities(7).
"""

# Each import costs milliseconds of every command: pathlib is not worth its own here.
# ruff: noqa: PTH102, PTH103, PTH108, PTH110, PTH112, PTH120, PTH211

from __future__ import annotations

import os
import sys

from hermes_jobs.tools.sandbox_plan import MARK, TEMPORARY, SandboxPlan, check, load_libc, write

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module itself costs milliseconds
    from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x8000000, 0x10000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_SLAVE = 4096, 16384, 1 << 19
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same numbers on all machines but alpha
OPEN_TREE_CLONE, AT_RECURSIVE, MOVE_MOUNT_F_EMPTY_PATH, AT_FDCWD = 1, 0x8000, 4, -100
MOUNT_ATTR_RDONLY = 1

KERNEL_SETTINGS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
"""Files of /proc by which root changes the system; others may not write them anyway."""

DEVICE_LINKS = (
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    *((name, f"/proc/self/fd/{number}") for number, name in enumerate(("stdin", "stdout", "stderr"))),
)

EMPTY_FILE = ".nothing"


def enter(plan: SandboxPlan) -> None:
    """Enter a mount namespace and arrange its mounts. Raises `SandboxFailed`, `OSError`."""
    libc = load_libc()
    is_root = os.geteuid() == 0
    _unshare(libc, is_root, (0 if plan.network else CLONE_NEWNET) | (0 if plan.open else CLONE_NEWIPC))
    _mount(libc, "none", "/", "", MS_REC | MS_SLAVE)
    kept, seen, writable, shown, devices = (
        _clones(libc, paths)
        for paths in (plan.kept, plan.seen, plan.writable, plan.shown, [] if plan.open else plan.devices)
    )
    temporary = [(path, _clone(libc, plan.tmp)) for path in TEMPORARY if plan.tmp and os.path.isdir(path)]
    if not plan.open:
        _close_all(libc, is_root)
        _replace_devices(libc, devices)
    in_home = f"{plan.home}/"
    _attach(libc, temporary)
    _attach(libc, kept, read_only=not plan.open)
    _attach(libc, [(path, tree) for path, tree in writable if not path.startswith(in_home)])
    _hide(libc, plan, seen)
    _attach(libc, [(path, tree) for path, tree in writable if path.startswith(in_home)])
    _attach(libc, shown, read_only=True)
    _lock(libc, plan)
    if not plan.open:
        _make_read_only(libc, "/dev", recursive=False)
    os.unlink(f"{plan.home}/{EMPTY_FILE}")
    _make_read_only(libc, plan.home, recursive=False)


def _unshare(libc: Any, is_root: bool, more: int) -> None:
    if is_root:
        check(libc.unshare(CLONE_NEWNS | more), "unshare")
        return
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(CLONE_NEWNS | CLONE_NEWUSER | more), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{uid} {uid} 1")
    write("/proc/self/gid_map", f"{gid} {gid} 1")


def _close_all(libc: Any, is_root: bool) -> None:
    """Make every mount read-only; sockets and pipes stay usable."""
    _set_attributes(libc, "/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)
    _set_attributes(libc, "/proc", 0, 0, MOUNT_ATTR_RDONLY)  # of its own process a program writes settings
    for name in KERNEL_SETTINGS if is_root else ():
        if os.path.exists(path := f"/proc/{name}"):
            _mount(libc, path, path, "", MS_BIND)
            _make_read_only(libc, path)


def _replace_devices(libc: Any, devices: list[tuple[str, int]]) -> None:
    """Leave these devices alone of those of the machine. Shared memory is private, and so are terminals that
    the command opens: it reaches none that is outside, whose keys it could read and whose screen it could
    write."""
    _mount(libc, "tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=64k")
    _attach(libc, devices)
    for folder in ("/dev/pts", "/dev/shm"):
        os.mkdir(folder, 0o755)
    _mount(libc, "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    _mount(libc, "tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    for name, target in DEVICE_LINKS:
        os.symlink(target, f"/dev/{name}")


def _hide(libc: Any, plan: SandboxPlan, seen: list[tuple[str, int]]) -> None:
    """Mount empty folders and files over the home and the hidden paths; in these folders what is `seen`."""
    if any(plan.home.startswith(f"{folder}/") for folder in TEMPORARY) and plan.tmp:
        os.makedirs(plan.home, mode=0o700, exist_ok=True)
    _mount(libc, MARK, plan.home, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700,size=64k")
    nothing = f"{plan.home}/{EMPTY_FILE}"
    os.close(os.open(nothing, os.O_CREAT | os.O_WRONLY, 0o444))
    for path in _outermost(plan.hidden, plan.home):
        if os.path.isdir(path):
            _mount(libc, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=64k")
            within = [(each, tree) for each, tree in seen if each.startswith(f"{path}/")]
            _attach(libc, within, read_only=not plan.open)
            _make_read_only(libc, path, recursive=False)
        elif os.path.exists(path):
            _mount(libc, nothing, path, "", MS_BIND)
            _make_read_only(libc, path)


def _lock(libc: Any, plan: SandboxPlan) -> None:
    """Make each pinned folder a mount, which cannot be moved, and each locked path a read-only one."""
    locked = set(plan.locked)
    for path in sorted({*plan.pinned, *locked}):
        if os.path.exists(path):
            _mount(libc, path, path, "", MS_BIND | MS_REC)
            if path in locked:
                _make_read_only(libc, path)


def _outermost(paths: list[str], home: str) -> list[str]:
    """The paths that are not within another of them or the home."""
    covered = [home]
    for path in sorted(set(paths)):
        if not any(path == folder or path.startswith(f"{folder}/") for folder in covered):
            covered.append(path)
    return covered[1:]


def _clones(libc: Any, paths: list[str]) -> list[tuple[str, int]]:
    return [(path, _clone(libc, path)) for path in sorted(paths) if os.path.exists(path)]


def _clone(libc: Any, path: str) -> int:
    """A descriptor of a copy of the mounts at and below the path, as they are now."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    return check(libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), flags), f"copying {path}")


def _attach(libc: Any, trees: list[tuple[str, int]], *, read_only: bool = False) -> None:
    """Mount the copies at their paths, which are created if a new mount has covered them."""
    for path, tree in trees:
        if not os.path.exists(path):
            _create(path, tree)
        words = (tree, b"", AT_FDCWD, os.fsencode(path), MOVE_MOUNT_F_EMPTY_PATH)
        check(libc.syscall(MOVE_MOUNT, *words), f"mounting {path}")
        os.close(tree)
        if read_only:
            _make_read_only(libc, path)


def _create(path: str, tree: int) -> None:
    """Create an empty folder or file, as the copy is one, to mount it there."""
    import stat

    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, mode=0o700, exist_ok=True)  # other commands of the session use it too
    else:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def _make_read_only(libc: Any, path: str, *, recursive: bool = True) -> None:
    _set_attributes(libc, path, AT_RECURSIVE if recursive else 0, MOUNT_ATTR_RDONLY, 0)


def _set_attributes(libc: Any, path: str, flags: int, added: int, removed: int) -> None:
    attributes = b"".join(value.to_bytes(8, sys.byteorder) for value in (added, removed, 0, 0))
    words = (AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes))
    check(libc.syscall(MOUNT_SETATTR, *words), f"protecting {path}")


def _mount(libc: Any, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), kind.encode() or None)
    check(libc.mount(*words, flags, data.encode() or None), f"mounting over {target}")
