"""The rights of root (capabilities) that a process in a sandbox keeps; without root it has none anyway.

Sources: capabilities(7), prctl(2), capset(2).
"""

from __future__ import annotations

import os

from hermes_jobs.tools.sandbox_plan import check, load_libc

PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 23, 24, 38
CAPABILITY_VERSION = 0x20080522

KEPT = frozenset((0, 1, 3, 5, 6, 7, 10, 18))
"""Without an approval, what root needs for work on files: owners and modes whatever the file's, signals,
other users, ports below 1024, chroot. Not what gives rights to whoever starts a file: capabilities of
files, set-group-ID bits of other groups, bits that outlast a change (`sandbox_calls` refuses set-user-ID)."""

LEADS_AROUND = frozenset((2, 16, 17, 19, 21, 22, 27, 32, 33, 34, 38, 39, 40))
"""What is given up after an approval too, since it leads around the walls: open by handle, modules, raw
devices, tracing, administration, reboot, device nodes, security modules, kernel log, performance events
(with Linux 6.18 that right reads `/proc/PID/environ` of any process), programs in the kernel, checkpoints."""

NET_RAW = 13
ALL = frozenset(range(64))


def give_up(*, approved: bool) -> None:
    """Give up root's rights for the rest of this process and for what it starts. Raises `SandboxFailed`."""
    libc = load_libc()
    kept = ALL - LEADS_AROUND if approved else KEPT
    # The kernel does not start a program that bears a capability out of bounds, as `ping` does.
    bounds = kept | {NET_RAW}
    there = [number for number in ALL if libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1]
    dropped = [libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) for number in there if number not in bounds]
    if os.geteuid() != 0 or not approved or any(dropped):
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")  # no program gets more
    import ctypes

    mask = sum(1 << number for number in kept)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: low words, then high ones
    check(libc.capget(header, sets), "capget")
    for index in range(6):
        sets[index] &= mask >> 32 * (index // 3) & 0xFFFFFFFF
    check(libc.capset(header, sets), "capset")  # the ambient set follows
