"""The sandbox by Landlock: access rules for a process and its children, and what goes with them.

Rules can only allow. So beside what is hidden everything is allowed one by one; and a writable folder that
holds something that must not be written cannot get new entries itself. What the kernel's version of Landlock
does not restrict yet, `sandbox_calls` refuses. Source: https://docs.kernel.org/userspace-api/landlock.html
"""

# Each import costs milliseconds of every command: pathlib is not worth its own here.
# ruff: noqa: PTH208

from __future__ import annotations

import os
import sys

from hermes_jobs.tools.sandbox_calls import AF_INET, AF_INET6, AF_UNIX, refuse_sockets
from hermes_jobs.tools.sandbox_plan import SandboxPlan, check, load_libc

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module itself costs milliseconds
    from typing import Any

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_CHAR = 1 << 6
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
BY_VERSION = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING = EXECUTE | READ_FILE | READ_DIR
SCOPES_SINCE, SCOPES = 6, 1 | 2  # abstract sockets, signals
MOVING_SINCE = 2
PR_SET_NO_NEW_PRIVS = 38

SHARED = ("/dev/shm", "/tmp", "/var/tmp")
"""Writable folders that this layer cannot replace by private ones. Not `/dev/pts`: a rule for terminals that
the command opens itself would hold for all others too."""


def enter(plan: SandboxPlan) -> None:
    """Restrict this process and its children to the plan. Raises `SandboxFailed`."""
    libc = load_libc()
    version = _version(libc)
    handled = sum(rights for since, rights in BY_VERSION if version >= since)
    ruleset = _ruleset(libc, handled, 0 if plan.open or version < SCOPES_SINCE else SCOPES)
    closed = dict.fromkeys((plan.home, *plan.hidden), 0) | dict.fromkeys((*plan.shown, *plan.seen), READING)
    # Without a right that the working folder has, nothing is moved there from these: copies are new.
    apart = handled & ~MAKE_CHAR
    closed |= {path: apart for path in plan.writable if path.startswith(f"{plan.home}/")}
    closed |= {plan.tmp: apart} if plan.tmp else {}
    kept = [path for path in plan.kept if path not in plan.writable and not plan.open]
    closed |= {} if plan.open else {"/dev": 0} | dict.fromkeys((*SHARED[:1], *plan.devices), handled)
    locked = dict.fromkeys((*kept, *plan.locked), READING if plan.open else 0)
    _allow(libc, ruleset, "/", READ_DIR)  # listing names is harmless
    if plan.open:
        _allow_but(libc, ruleset, "/", handled, locked | closed)
    else:
        _allow_but(libc, ruleset, "/", READING, closed)
        for path in (*SHARED, *plan.devices, *([plan.tmp] if plan.tmp else [])):
            _allow_but(libc, ruleset, path, apart, locked | closed)
        for path in plan.writable:
            _allow_but(libc, ruleset, path, handled, locked | closed)
        if os.geteuid() != 0:  # root could change the system there
            _allow(libc, ruleset, "/proc", READING | WRITE_FILE)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict(libc, ruleset)
    refused = [] if plan.sockets else [AF_UNIX]
    refused += [] if plan.network else [AF_INET, AF_INET6]
    if refused:
        refuse_sockets(libc, refused)


def separate(plan: SandboxPlan) -> None:
    """Beside mounts: a domain that allows all access to files. Root can trace, and read by /proc/PID/root,
    only processes of the same domain; it also forbids mounting, in namespaces of the command's own too.
    Without root the user namespace does that. Unless the plan is open, no process outside gets its signals.

    Nothing for root before version 2, which could not allow moving files between folders (Linux 5.19).
    """
    libc = load_libc()
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    handled = REFER if os.geteuid() == 0 and version >= MOVING_SINCE else 0
    scopes = SCOPES if version >= SCOPES_SINCE and not plan.open else 0
    if handled or scopes:
        ruleset = _ruleset(libc, handled, scopes)
        if handled:
            _allow(libc, ruleset, "/", REFER)
        _restrict(libc, ruleset)


def _allow_but(libc: Any, ruleset: int, root: str, rights: int, apart: dict[str, int]) -> None:
    """Allow the rights at and below a path, but at `apart` only those named there."""
    open_paths = [root]
    while open_paths:
        path = open_paths.pop()
        within = f"{path.rstrip('/')}/"
        if apart.get(path):
            _allow(libc, ruleset, path, apart[path] & rights)
        elif any(special.startswith(within) for special in apart):
            try:
                names = os.listdir(path)
            except OSError:
                continue
            is_closed = any(
                not allowed and f"{path}/".startswith(f"{each}/") for each, allowed in apart.items()
            )
            open_paths += [
                child
                for child in (f"{within}{name}" for name in names)
                if not is_closed or _leads_on(child, apart)
            ]
        elif path not in apart:
            _allow(libc, ruleset, path, rights)


def _leads_on(path: str, apart: dict[str, int]) -> bool:
    """Whether a path within a closed folder is one that is open again, or has one below it."""
    return any(allowed and f"{each}/".startswith(f"{path}/") for each, allowed in apart.items())


def _ruleset(libc: Any, handled: int, scopes: int) -> int:
    attributes = b"".join(value.to_bytes(8, sys.byteorder) for value in (handled, 0, scopes))
    size = len(attributes) if scopes else 8  # older kernels know the first field only
    return check(libc.syscall(LANDLOCK_CREATE_RULESET, attributes, size, 0), "landlock")


def _restrict(libc: Any, ruleset: int) -> None:
    check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock")
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


def _version(libc: Any) -> int:
    return check(libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1), "landlock")
