"""Rights of root in the sandbox, and modes of files that Landlock cannot keep: each tries the harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_jobs.tools import guarded_files, sandbox
from hermes_jobs.tools.sandbox import Layer, Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.sandbox_plan import LANDLOCK
from hermes_jobs.tools.sandbox_rights import ALL, KEPT, LEADS_AROUND, NET_RAW

from .test_sandbox import LAYERS, SECRET, Person

APPROVED = SandboxReach(approved=True)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="others have no such rights")

CALLS = """\
import ctypes, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(name, done):
    print(name, "done" if done else "refused")
def raw(name, family, protocol):
    try:
        socket.socket(family, socket.SOCK_RAW, protocol).close()
        call(name, True)
    except OSError:
        call(name, False)
raw("packets", socket.AF_PACKET, socket.htons(3))
raw("tcp", socket.AF_INET, socket.IPPROTO_TCP)
libc.klogctl.restype = ctypes.c_int
call("kernel log", libc.klogctl(3, ctypes.create_string_buffer(100), 100) >= 0)
call("reboot", not libc.reboot(1) or ctypes.get_errno() != 1)
call("hostname", not libc.sethostname(b"x" * 100, 100) or ctypes.get_errno() != 1)
call("tracing init", not libc.ptrace(16, 1, 0, 0))
call("device", not libc.mknod(b"node", 0o020600, os.makedev(1, 3)))
call("priority", not libc.setpriority(0, 0, -5))
call("handle", libc.open_by_handle_at(-100, struct.pack("IIQ", 8, 1, 2), 0) >= 0 or ctypes.get_errno() != 1)
"""


@pytest.fixture(params=LAYERS)
def person(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Person:
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=request.param))
    return Person(tmp_path.resolve())


def held(person: Person, reach: SandboxReach) -> dict[str, set[int]]:
    """The rights of a command of root, by set."""
    lines = person.run("grep ^Cap /proc/self/status", reach).output.splitlines()
    words = {name: int(mask, 16) for name, mask in (line.split(":\t") for line in lines)}
    return {name: {number for number in ALL if mask >> number & 1} for name, mask in words.items()}


@as_root
def test_what_root_needs_for_files_is_all_that_a_command_has(person: Person) -> None:
    sets = held(person, SandboxReach())
    assert sets.pop("CapBnd") <= KEPT | {NET_RAW}
    assert all(numbers <= KEPT for numbers in sets.values())
    assert sets["CapEff"]


@as_root
def test_an_approved_command_has_all_rights_but_those_around_the_walls(person: Person) -> None:
    own = int(Path("/proc/self/status").read_text().split("CapEff:\t")[1].split()[0], 16)
    sets = held(person, APPROVED)
    assert sets["CapEff"] == {number for number in ALL - LEADS_AROUND if own >> number & 1}
    assert not sets["CapBnd"] & LEADS_AROUND


@as_root
def test_no_command_of_root_works_on_the_system(person: Person) -> None:
    (person.work / "calls.py").write_text(CALLS)
    done = person.run(f"{sys.executable} calls.py")
    assert {line.split()[-1] for line in done.output.splitlines()} == {"refused"}, done.output
    assert len(done.output.splitlines()) == CALLS.count("call(") + CALLS.count("raw(") - 4


@pytest.mark.parametrize("reach", [SandboxReach(), APPROVED], ids=["usual", "approved"])
def test_no_command_reads_the_variables_of_a_process_outside(person: Person, reach: SandboxReach) -> None:
    with subprocess.Popen(["sleep", "60"], env={"PLANTED": SECRET}) as outside:
        done = person.run(f"cat /proc/{outside.pid}/environ; cat /proc/[0-9]*/environ", reach)
        outside.kill()
    assert SECRET not in done.output
    assert "Permission denied" in done.output


@as_root
def test_root_still_works_on_files_of_others_and_as_others(person: Person) -> None:
    done = person.run(
        "touch f && chown 12345:12345 f && chmod 600 f && echo x > f && cat f && "
        f"{sys.executable} -c \"import os, socket; socket.socket().bind(('127.0.0.1', 0)); os.chroot('/'); "
        'os.setgid(1); os.setuid(1); print(os.getuid())"'
    )
    assert done.output == "x\n1\n"


SETTING = (
    "os.chmod('f', 0o4755)",
    "os.fchmod(os.open('f', 0), 0o4755)",
    "os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755, dir_fd=os.open('.', 0))",
    "libc.linkat(-100, b'/proc/self/fd/%d' % os.open('.', os.O_TMPFILE | 1, 0o4755), -100, b'new', 0x400)",
    "os.mknod('new', 0o104755)",
    "libc.creat(b'new', 0o4755)",
    "libc.syscall(452, -100, b'f', 0o4755, 0)",
    "libc.syscall(437, -100, b'new', struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)",
    "libc.setxattr(b'f', b'security.capability', bytes.fromhex('0100000200002000' + '0' * 24), 20, 0)",
    "os.write(os.open('theirs', os.O_WRONLY), b'evil')",
)
"""What makes a file run with the rights of root, whoever starts it: the last one changes one that does."""


@as_root
@pytest.mark.parametrize("setting", SETTING)
def test_no_command_leaves_a_file_with_the_rights_of_root(person: Person, setting: str) -> None:
    theirs = person.work / "theirs"
    for file in (person.work / "f", theirs):
        file.write_text("x")
    theirs.chmod(0o4755)
    (person.work / "s.py").write_text(f"import ctypes, os, struct\nlibc = ctypes.CDLL(None)\n{setting}\n")
    person.run(f"umask 0; {sys.executable} s.py")
    bear = [file.name for file in person.work.iterdir() if file.stat().st_mode & 0o4000]
    assert bear == ["theirs"] * (theirs.read_text() == "x")
    assert not os.listxattr(person.work / "f")


@as_root
def test_a_command_of_root_makes_files_and_folders_of_all_other_modes(person: Person) -> None:
    done = person.run(
        "set -e; mkdir d && chmod 2775 d && chmod 1777 d && touch d/f && chmod 755 d/f && "
        "install -m 640 d/f g && "
        "tar cf t.tar d && rm -r d && tar xf t.tar && stat -c %a d d/f g && mkfifo p && "
        f"{sys.executable} -c \"import os; os.open('h', os.O_CREAT, 0o600)\""
    )
    assert done.output == "3777\n755\n640\n"


@as_root
def test_a_program_that_bears_a_right_out_of_bounds_starts_and_does_not_get_it(person: Person) -> None:
    """As `ping` does on many systems."""
    made = "cp /bin/grep g && setcap cap_net_raw+ep g"
    if subprocess.run(made, shell=True, cwd=person.work, capture_output=True, check=False).returncode:
        pytest.skip("no setcap, or a file system without capabilities")
    output = person.run("./g CapEff /proc/self/status").output
    assert not int(output.split()[1], 16) >> NET_RAW & 1


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Person, Sandbox]:
    if LANDLOCK not in LAYERS:
        pytest.skip("no Landlock here")
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=LANDLOCK))
    made = Person(tmp_path.resolve())
    for path in (made.home, made.folder / ".ssh"):
        path.chmod(0o700)
    for path in (made.home / ".env", made.folder / ".ssh/id_rsa"):
        path.chmod(0o600)
    return made, Sandbox(paths=made.paths, mode="on")


def test_modes_of_keys_and_of_the_home_are_put_back(guarded: tuple[Person, Sandbox]) -> None:
    made, walls = guarded
    roots = [str(made.work)]
    guard = walls.guard(roots, guarded_files.find(roots))
    made.run("cd; chmod 777 .ssh .ssh/id_rsa .hermes-jobs .hermes-jobs/.env . ; chmod 400 .netrc")
    changed = {".ssh", ".ssh/id_rsa", ".hermes-jobs", ".hermes-jobs/.env", "."}
    assert set(guard.restore()) == {str(made.folder / name) for name in changed}
    modes = [(made.folder / name).stat().st_mode & 0o777 for name in sorted(changed)]
    assert modes[1:] == [0o700, 0o600, 0o700, 0o600]
    assert not modes[0] & 0o022
    assert (made.folder / ".netrc").stat().st_mode & 0o777 == 0o400
    assert guard.restore() == ()


@as_root
def test_owners_of_keys_are_put_back(guarded: tuple[Person, Sandbox]) -> None:
    made, walls = guarded
    roots = [str(made.work)]
    guard = walls.guard(roots, guarded_files.find(roots))
    made.run("chown 12345 ~/.ssh/id_rsa")
    assert (made.folder / ".ssh/id_rsa").stat().st_uid == 12345
    guard.restore()
    assert (made.folder / ".ssh/id_rsa").stat().st_uid == 0


def test_a_file_in_place_of_a_key_keeps_its_mode(guarded: tuple[Person, Sandbox]) -> None:
    made, walls = guarded
    roots = [str(made.work)]
    guard = walls.guard(roots, guarded_files.find(roots))
    key, other = made.folder / ".ssh/id_rsa", made.work / "other"
    other.write_text("x")
    other.chmod(0o666)
    key.rename(made.work / "moved")
    key.symlink_to(other)
    assert guard.restore() == ()
    assert other.stat().st_mode & 0o777 == 0o666
