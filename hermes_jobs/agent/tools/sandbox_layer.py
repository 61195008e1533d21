"""The sandbox of a command: the kernel hides files from it.

Called by `supervisor` between fork and exec, and run as `python -I -S sandbox_layer.py` to detect the layer
of this machine; so it imports only modules that load fast. Two layers, the better one first:

    namespace   a mount namespace of the command's own: empty folders and files cover the hidden ones.
                Without root by way of a user namespace. Sources: mount_namespaces(7), user_namespaces(7)
    landlock    access rules for the process and its children. Rules can only allow, so everything beside what
                is hidden is allowed one by one, and a folder that holds something hidden cannot get new
                entries. Source: https://docs.kernel.org/userspace-api/landlock.html

Either way no process outside can be traced or read through /proc from inside, nor one in another sandbox:
without root because it is in another user namespace, with landlock because it is in another domain. Root has
the second beside its mount namespace (`_separate_domain`).
"""

# Each import costs milliseconds of every command: pathlib and contextlib are not worth theirs here.
# ruff: noqa: PTH103, PTH108, PTH110, PTH112, PTH113, PTH123, PTH208

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module itself costs milliseconds
    from typing import Any

NAMESPACE, LANDLOCK, NONE = "namespace", "landlock", "none"

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_SLAVE, MS_RELATIME = 4096, 16384, 1 << 19, 1 << 21
ST_KEPT, ST_RELATIME = 2 | 4 | 8 | 1024 | 2048, 4096  # nosuid, nodev, noexec, noatime, nodiratime
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38

DROPPED = (2, 16, 17, 19, 21, 22, 27, 32, 33, 34, 38, 39, 40)
"""Capabilities that root gives up, each of which would bypass the mounts (capabilities(7)): open by handle,
modules, raw devices, ptrace, administration, reboot, device nodes, security modules, kernel log, tracing."""

EMPTY_FILE = ".nothing"


class SandboxFailed(Exception):
    """The sandbox could not be set up. The message names the step."""


class SandboxPlan:
    """What the sandbox hides. All paths are real and absolute.

    `home` is hidden but for its folders `shown`, which can be read; `hidden` files and folders are empty;
    `locked` ones cannot be written.
    """

    def __init__(self, layer: str, home: str, shown: list[str], hidden: list[str], locked: list[str]) -> None:
        self.layer = layer
        self.home = home
        self.shown = shown
        self.hidden = hidden
        self.locked = locked

    def encode(self) -> str:
        """One argument of a command line. Raises `ValueError` for a path with a line break."""
        fields = (("layer", [self.layer]), ("home", [self.home]), ("shown", self.shown))
        lines = [f"{name} {value}" for name, values in fields for value in values]
        lines += [f"hidden {path}" for path in self.hidden] + [f"locked {path}" for path in self.locked]
        if any("\n" in line for line in lines):
            raise ValueError("the name of a folder holds a line break")
        return "\n".join(lines)


def decode(text: str) -> SandboxPlan:
    """The plan that `encode` wrote."""
    fields: dict[str, list[str]] = {"layer": [], "home": [], "shown": [], "hidden": [], "locked": []}
    for line in text.split("\n"):
        name, _, value = line.partition(" ")
        fields[name].append(value)
    return SandboxPlan(
        fields["layer"][0], fields["home"][0], fields["shown"], fields["hidden"], fields["locked"]
    )


def enter(plan: SandboxPlan) -> None:
    """Enter the sandbox for the rest of this process, which has a single thread. Raises `SandboxFailed`."""
    if plan.layer == NAMESPACE:
        _mount_over(plan)
    elif plan.layer == LANDLOCK:
        _restrict(plan)
    elif plan.layer != NONE:
        raise SandboxFailed(f"there is no layer {plan.layer}")


# --- namespace --------------------------------------------------------------------------------------


def _mount_over(plan: SandboxPlan) -> None:
    """Enter a mount namespace and hide the paths there."""
    libc = _libc()
    if os.geteuid() == 0:
        _check(libc.unshare(CLONE_NEWNS), "unshare")
    else:
        uid, gid = os.getuid(), os.getgid()
        _check(libc.unshare(CLONE_NEWNS | CLONE_NEWUSER), "unshare")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    _mount(libc, "none", "/", "", MS_REC | MS_SLAVE)
    _hide_home(libc, plan)
    nothing = f"{plan.home}/{EMPTY_FILE}"
    for path in _outermost(plan.hidden, plan.home):
        if os.path.isdir(path):
            _mount(libc, "tmpfs", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=555")
        elif os.path.exists(path):
            _mount(libc, nothing, path, "", MS_BIND)
            _make_read_only(libc, path)
    for path in plan.locked:
        if os.path.exists(path):
            _mount(libc, path, path, "", MS_BIND | MS_REC)
            _make_read_only(libc, path)
    os.unlink(nothing)
    _make_read_only(libc, plan.home)
    if os.geteuid() == 0:
        for number in DROPPED:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
        _separate_domain(libc)
    else:
        _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def _hide_home(libc: Any, plan: SandboxPlan) -> None:
    """Mount an empty folder over the home, with the shown folders, and create the file that hides others."""
    open_folders = [(path, os.open(path, os.O_PATH)) for path in plan.shown if os.path.isdir(path)]
    _mount(libc, "tmpfs", plan.home, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700,size=64k")
    os.close(os.open(f"{plan.home}/{EMPTY_FILE}", os.O_CREAT | os.O_WRONLY, 0o444))
    for path, descriptor in open_folders:
        os.makedirs(path)
        _mount(libc, f"/proc/self/fd/{descriptor}", path, "", MS_BIND | MS_REC)
        _make_read_only(libc, path)
        os.close(descriptor)


def _outermost(paths: list[str], home: str) -> list[str]:
    """The paths that are not within another of them or the home."""
    covered = [home]
    for path in sorted(set(paths)):
        if not any(path == folder or path.startswith(f"{folder}/") for folder in covered):
            covered.append(path)
    return covered[1:]


def _make_read_only(libc: Any, path: str) -> None:
    # Flags that the mount has from outside must be named again: they are locked in a user namespace.
    there = os.statvfs(path).f_flag
    flags = there & ST_KEPT | (MS_RELATIME if there & ST_RELATIME else 0)
    _mount(libc, "none", path, "", MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def _mount(libc: Any, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), kind.encode() or None)
    _check(libc.mount(*words, flags, data.encode() or None), f"mounting over {target}")


# --- landlock ---------------------------------------------------------------------------------------

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
BY_VERSION = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def _restrict(plan: SandboxPlan) -> None:
    """Allow this process all paths except hidden and locked ones."""
    libc = _libc()
    version = _landlock_version(libc)
    handled = sum(rights for since, rights in BY_VERSION if version >= since)
    ruleset = _check(
        libc.syscall(LANDLOCK_CREATE_RULESET, handled.to_bytes(8, sys.byteorder), 8, 0), "landlock"
    )
    reading = EXECUTE | READ_FILE | READ_DIR
    apart = dict.fromkeys((plan.home, *plan.hidden), 0) | dict.fromkeys(plan.locked, reading)
    apart |= dict.fromkeys(plan.shown, reading)
    _allow(libc, ruleset, "/", READ_DIR)  # listing names is harmless
    open_paths = ["/"]
    while open_paths:
        path = open_paths.pop()
        within = f"{path.rstrip('/')}/"
        if apart.get(path):
            _allow(libc, ruleset, path, apart[path])
        elif any(special.startswith(within) for special in apart):
            try:
                names = os.listdir(path)
            except OSError:
                continue
            paths = [f"{within}{name}" for name in names]
            inside = path in apart or any(
                path.startswith(f"{special}/") and not apart[special] for special in apart
            )
            open_paths += [candidate for candidate in paths if candidate in apart] if inside else paths
        elif path not in apart:
            _allow(libc, ruleset, path, handled)
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def _separate_domain(libc: Any) -> None:
    """A landlock domain that allows all access to files: only processes of the same domain can be traced, or
    be read by /proc/PID/root. It also forbids mounting, in namespaces of the command's own too.

    Nothing before version 2, which could not allow moving files between folders (Linux 5.19).
    """
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version >= 2:
        ruleset = _check(
            libc.syscall(LANDLOCK_CREATE_RULESET, REFER.to_bytes(8, sys.byteorder), 8, 0), "landlock"
        )
        _allow(libc, ruleset, "/", REFER)
        _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock")
        os.close(ruleset)


def _allow(libc: Any, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # it was removed, or is out of reach anyway
    try:
        import stat

        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode):
            return  # its target has its own rule
        if not stat.S_ISDIR(mode):
            rights &= FILE_RIGHTS
        rule = rights.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        libc.syscall(LANDLOCK_ADD_RULE, ruleset, 1, rule, 0)  # refused for pipes and sockets: no rule needed
    finally:
        os.close(descriptor)


def _landlock_version(libc: Any) -> int:
    return int(_check(libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1), "landlock"))


# --- detection --------------------------------------------------------------------------------------


def detect_layer(home: str) -> tuple[str, str]:
    """The best layer of this machine, tested in a child process; and why a better one is not available."""
    why: list[str] = []
    for layer in (NAMESPACE, LANDLOCK) if sys.platform == "linux" else ():
        reason = _try_sandbox(SandboxPlan(layer, home, [], [], []))
        if reason is None:
            return layer, "; ".join(why)
        why.append(f"{layer}: {reason}")
    return NONE, "; ".join(why) or "only Linux has one"


def _try_sandbox(plan: SandboxPlan) -> str | None:
    """Why the sandbox cannot be set up or does not work; None if it works."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        reason = "it ended"
        try:
            enter(plan)
            reason = "it hides nothing" if _can_read(plan.home) else ""
        except (SandboxFailed, OSError) as error:
            reason = str(error)
        finally:
            os.write(writer, reason.encode()[:4000] or b"\0")
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        reason = pipe.read().decode()
    os.waitpid(child, 0)
    return None if reason == "\0" else reason or "it ended"


def _can_read(home: str) -> bool:
    """Whether a file of the folder can be opened; `detect_layer` is given one that has some."""
    for name in os.listdir(home):
        path = f"{home}/{name}"
        if os.path.isfile(path):
            try:
                os.close(os.open(path, os.O_RDONLY))
            except OSError:
                continue
            return True
    return False


def _libc() -> Any:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount.argtypes = (*(ctypes.c_char_p,) * 3, ctypes.c_ulong, ctypes.c_char_p)
    libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    return libc


def _check(result: int, what: str) -> int:
    if result < 0:
        import ctypes

        raise SandboxFailed(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise SandboxFailed(f"{path}: {error.strerror}") from error


if __name__ == "__main__":
    print("\n".join(detect_layer(sys.argv[1])))  # noqa: T201
