"""Filters of system calls in the sandbox: sockets that Landlock does not restrict, and files that run with
the rights of root whoever starts them.

Sources: seccomp(2), bpf(4), and the tables of system calls of Linux.
"""

from __future__ import annotations

import os
import sys

from hermes_jobs.tools.sandbox_plan import check, load_libc

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module itself costs milliseconds
    from typing import Any

    Instruction = tuple[int, int, int, int]
    """An operation, how many instructions to skip if it holds and if it does not, and its value."""

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, EQUAL, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOWED, ERROR = 0x7FFF0000, 0x00050000
REFUSED, NOT_PERMITTED, UNKNOWN = ERROR | 13, ERROR | 1, ERROR | 38  # EACCES, EPERM, ENOSYS
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in `struct seccomp_data`
OPENAT2, IO_URING_SETUP, FCHMODAT2, X32 = 437, 425, 452, 0x40000000
SET_USER_ID, CREATES = 0o4000, 0o20000100  # of a mode; O_CREAT and O_TMPFILE

AARCH64, RISCV64, X86_64, I386 = 0xC00000B7, 0xC00000F3, 0xC000003E, 0x40000003
ARCHITECTURES = {"x86_64": (X86_64, I386), "aarch64": (AARCH64,), "riscv64": (RISCV64,)}
"""By machine, all little-endian: its numbers in the kernel's audit interface, its own first."""

SOCKET = {X86_64: 41, AARCH64: 198, RISCV64: 198}

_NEWER = {52: 1, 53: 2, FCHMODAT2: 2, 33: 2}, {56: 2}
SETTING_MODES = {
    X86_64: ({90: 1, 91: 1, 268: 2, FCHMODAT2: 2, 85: 1, 133: 1, 259: 2}, {2: 1, 257: 2}),
    I386: ({15: 1, 94: 1, 306: 2, FCHMODAT2: 2, 8: 1, 14: 1, 297: 2}, {5: 1, 295: 2}),
    AARCH64: _NEWER,
    RISCV64: _NEWER,
}
"""By architecture: the calls that set a mode (chmod, fchmod, fchmodat, creat, mknod, mknodat) with the number
of that argument; and open and openat with that of their flags, which the mode follows."""


def refuse_sockets(libc: Any, families: list[int]) -> None:
    """Refuse new sockets of these families, and io_uring, which could make them too; programs for another
    machine than the kernel's are refused all calls. Raises `SandboxFailed`."""
    architecture, *_ = ARCHITECTURES.get(os.uname().machine, (0,))
    if not architecture:
        return  # a machine whose numbers are not known here
    program: list[Instruction] = [(EQUAL, 1, 0, SOCKET[architecture]), (RETURN, 0, 0, ALLOWED), _argument(0)]
    for family in families:
        program += [(EQUAL, 0, 1, family), (RETURN, 0, 0, REFUSED)]
    _install(libc, _for_architecture(architecture, [*_refusal(IO_URING_SETUP, REFUSED), *program]))


def refuse_set_user_id() -> None:
    """Refuse to make files that run with their owner's rights. Calls that hide the mode in memory do not
    exist then, and programs use others. Raises `SandboxFailed`."""
    program: list[Instruction] = []
    for architecture in ARCHITECTURES.get(os.uname().machine, ()):
        calls, opening = SETTING_MODES[architecture]
        part = [*_refusal(OPENAT2, UNKNOWN), *_refusal(IO_URING_SETUP, UNKNOWN)]
        for number, at in opening.items():
            part += [(EQUAL, 0, 6, number), _argument(at), (HAS_BITS, 0, 3, CREATES), *_checked_mode(at + 1)]
        for number, at in calls.items():
            part += [(EQUAL, 0, 4, number), *_checked_mode(at)]
        program += _for_architecture(architecture, part)
    if program:
        _install(load_libc(), program)


def _checked_mode(at: int) -> list[Instruction]:
    refusal = (HAS_BITS, 0, 1, SET_USER_ID), (RETURN, 0, 0, NOT_PERMITTED)
    return [_argument(at), *refusal, (RETURN, 0, 0, ALLOWED)]


def _argument(at: int) -> Instruction:
    return (LOAD, 0, 0, FIRST_ARGUMENT + 8 * at)


def _refusal(number: int, error: int) -> list[Instruction]:
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, error)]


def _for_architecture(architecture: int, part: list[Instruction]) -> list[Instruction]:
    """What decides on the calls of one architecture, all of those that `part` allows to go on."""
    x32: list[Instruction] = [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, REFUSED)]
    whole: list[Instruction] = [(LOAD, 0, 0, NUMBER), *x32, *part, (RETURN, 0, 0, ALLOWED)]
    return [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 0, len(whole), architecture), *whole]


def _install(libc: Any, program: list[Instruction]) -> None:
    import ctypes

    program = [*program, (RETURN, 0, 0, REFUSED)]  # another architecture
    code = b"".join(
        operation.to_bytes(2, sys.byteorder) + bytes((yes, no)) + value.to_bytes(4, sys.byteorder)
        for operation, yes, no, value in program
    )
    buffer = ctypes.create_string_buffer(code, len(code))
    address = ctypes.addressof(buffer)
    header = len(program).to_bytes(8, sys.byteorder)  # two bytes, and padding
    filter_program = ctypes.create_string_buffer(header + address.to_bytes(8, sys.byteorder), 16)
    words = (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(filter_program), 0, 0)
    check(libc.prctl(*words), "seccomp")
