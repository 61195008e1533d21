"""The sandbox of commands: what it hides whatever a command does, and what works in it."""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_jobs.system.isolation import INSIDE_TOOL
from hermes_jobs.tools import sandbox
from hermes_jobs.tools.environment import filtered_environment
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.processes import Completed, run
from hermes_jobs.tools.sandbox import Layer, Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.sandbox_plan import LANDLOCK, NAMESPACE, NONE
from hermes_jobs.tools.sensitive_paths import devices
from hermes_jobs.tools.tool import ToolFailed
from tests.tables import sampled

from .support import Switch

ROOT = Path(__file__).parents[2]
SECRET = "the-needle-in-the-haystack"


def layers() -> list[str]:
    """The layers of this machine."""
    best = sandbox.layer().name
    return {NAMESPACE: [NAMESPACE, LANDLOCK], LANDLOCK: [LANDLOCK]}.get(best, [])


LAYERS = layers()
USUAL = SandboxReach()


class Person:
    """A person's home folder with hermes-jobs' home, keys and a project in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / ".hermes-jobs"
        self.work = folder / "project"
        self.paths = PathPolicy(home=str(self.home), user_home=str(folder))
        self.work.mkdir()
        for name in (
            ".hermes-jobs/.env",
            ".hermes-jobs/config.yaml",
            ".hermes-jobs/events.db",
            ".hermes-jobs/run/broker.json",
            ".hermes-jobs/plugins/p/__init__.py",
            ".ssh/id_rsa",
            ".aws/credentials",
            ".netrc",
            ".config/gh/hosts.yml",
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(SECRET)
        for name in (".hermes-jobs/results/r.txt", ".hermes-jobs/skills/a/SKILL.md", ".bashrc", ".zshrc"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("open to see")

    def plan(self) -> str:
        """The plan of an everyday command."""
        made = Sandbox(paths=self.paths, mode="on")
        return made.enclose(str(self.work), USUAL, {}, scratch="s1").plan

    def run(
        self, command: str, reach: SandboxReach = USUAL, mode: sandbox.Mode = "on", **environ: str
    ) -> Completed:
        env = filtered_environment({**os.environ, "HOME": str(self.folder), **environ})
        made = Sandbox(paths=self.paths, mode=mode).enclose(str(self.work), reach, env, scratch="s1")
        cancel = Switch()
        return run(
            command, cwd=str(self.work), env=made.environment, timeout=60, cancel=cancel, sandbox=made.plan
        )


@pytest.fixture(params=LAYERS)
def person(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Person:
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=request.param))
    return Person(tmp_path.resolve())


ATTACKS = (
    "cat ~/.hermes-jobs/.env",
    "cat ~/.hermes-jobs/run/broker.json",
    "grep -r . ~",
    "find ~ -name .env -exec cat {} +",
    "cat ~/.ssh/id_rsa ~/.aws/credentials ~/.netrc ~/.config/gh/hosts.yml",
    "tar c ~/.ssh ~/.hermes-jobs",
    "cp -r ~/.hermes-jobs copy; grep -r . copy",
    "ln -s ~/.hermes-jobs/.env l; cat l",
    "ln ~/.hermes-jobs/.env l; cat l",
    "mv ~/.hermes-jobs ~/moved; cat ~/moved/.env",
    "cat /proc/self/root$HOME/.hermes-jobs/.env",
    "cat /proc/$PPID/root$HOME/.hermes-jobs/.env",
    "for p in /proc/[0-9]*; do cat $p/root$HOME/.hermes-jobs/.env; done",
    "for p in /proc/[0-9]*; do cat $p/cwd/../.hermes-jobs/.env; done",
    "umount ~/.hermes-jobs; umount -l ~/.hermes-jobs; cat ~/.hermes-jobs/.env",
    "unshare -Urm sh -c 'umount ~/.hermes-jobs; cat ~/.hermes-jobs/.env'",
    "unshare -Urm sh -c 'mount --bind / /mnt; cat /mnt$HOME/.hermes-jobs/.env'",
    "mount --bind / /mnt && cat /mnt$HOME/.hermes-jobs/.env",
    "nsenter -t 1 -m cat ~/.hermes-jobs/.env",
    "nsenter -t $PPID -m cat ~/.hermes-jobs/.env",
    "chroot / cat ~/.hermes-jobs/.env",
    "python3 -c \"import os; print(open(os.path.expanduser('~/.ssh/id_rsa')).read())\"",
    "setsid sh -c 'sleep 0.1; cat ~/.hermes-jobs/.env'",
    "cd ~/.hermes-jobs && cat .env",
    "cd ~/.hermes-jobs/results && cat ../.env",
    "cat ~/.hermes-jobs/skills/../.env",
)


SYSTEM = (
    "cat /etc/shadow /etc/gshadow /etc/ssh/ssh_host_*_key",
    "cat /proc/self/root/etc/shadow",
    "cp /etc/shadow s && cat s",
    "ln /etc/shadow s && cat s",
    "cat < /etc/shadow",
    "umount /etc/shadow; cat /etc/shadow",
    "mv /etc/shadow /etc/s; cat /etc/s",
    "unshare -m sh -c 'umount /etc/shadow; cat /etc/shadow'",
    "head -qc 9 /dev/[hsvx]d* /dev/nvme*n*",
)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read them anyway")
@pytest.mark.parametrize("attack", SYSTEM)
def test_no_command_of_root_reads_keys_of_the_system_and_raw_disks(person: Person, attack: str) -> None:
    assert person.run(f"({attack}) 2>/dev/null | wc -c").output.strip() == "0"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read them anyway")
def test_only_an_approved_command_that_changes_the_system_sees_its_keys(person: Person) -> None:
    seen = SandboxReach(approved=True, system=True)
    assert "root:" in person.run("cat /etc/shadow", seen).output
    assert "root:" not in person.run("cat /etc/shadow", SandboxReach(approved=True)).output


@pytest.mark.parametrize("attack", sampled(ATTACKS, 4, in_ci=2))
def test_no_command_reads_hidden_files(person: Person, attack: str) -> None:
    assert SECRET not in person.run(attack).output


TERMINAL = """\
import os, select, sys
try:
    terminal = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
except OSError:
    sys.exit("refused")
os.write(terminal, b"\\x1b]52;c;ZXZpbA==")
if select.select([terminal], [], [], 1)[0]:
    print(os.read(terminal, 100))
"""


def test_no_command_reads_what_is_typed_in_a_terminal_or_writes_there(person: Person) -> None:
    (person.work / "t.py").write_text(TERMINAL)
    keys, terminal = os.openpty()
    name = os.ttyname(terminal)
    os.write(keys, b"a-password\n")
    read = person.run(f"{sys.executable} t.py {name}; cat {name}; echo evil > {name}; ls /dev/pts").output
    shown = os.read(keys, 1000)
    assert "refused" in read
    assert b"evil" not in shown
    assert b"ZXZpbA" not in shown
    assert select.select([terminal], [], [], 0)[0], "what was typed is still there"
    os.close(keys)
    os.close(terminal)


def test_a_command_has_no_terminal_and_no_device_of_the_machine(person: Person) -> None:
    done = person.run(
        "for d in /dev/* /dev/*/*; do [ -c $d -o -b $d ] && [ ! -L $d ] || continue; (: < $d) && echo $d; "
        "(: > $d) && echo $d; done 2>/dev/null; ls -l /proc/self/fd"
    )
    opened = {line for line in done.output.splitlines() if line.startswith("/dev/")}
    assert opened >= {"/dev/null", "/dev/zero", "/dev/urandom"}
    assert opened - set(devices()) <= {"/dev/ptmx", "/dev/pts/ptmx"}
    assert "/dev/tty" not in opened
    assert "/dev/pts" not in done.output.partition("total")[2]


SHARED_MEMORY = """\
import ctypes, sys
libc = ctypes.CDLL(None)
number = libc.shmget(int(sys.argv[1]), 4096, 0)
print("reached" if number >= 0 else "nothing")
made = libc.shmget(0, 4096, 0o1600)
print("made" if made >= 0 else "none")
libc.shmctl(made, 0, None)
"""


def test_shared_memory_of_other_processes_is_out_of_reach(
    person: Person, request: pytest.FixtureRequest
) -> None:
    if LANDLOCK in request.node.callspec.id:
        pytest.skip("it has no rule for these")
    libc = ctypes.CDLL(None)
    key = os.getpid()
    segment = libc.shmget(key, 4096, 0o1600)
    try:
        (person.work / "m.py").write_text(SHARED_MEMORY)
        done = person.run(f"{sys.executable} m.py {key}; touch /dev/shm/hermes-test-{key}")
        assert done.output == "nothing\nmade\n"
        assert not Path(f"/dev/shm/hermes-test-{key}").exists()
    finally:
        libc.shmctl(segment, 0, None)


def test_a_device_that_the_person_declares_is_there(person: Person) -> None:
    device = "/dev/fuse"
    if not os.access(device, os.R_OK | os.W_OK):
        pytest.skip("no such device here")
    opening = f"exec 3<> {device} && echo opened"
    assert "opened" not in person.run(opening).output
    walls = Sandbox(paths=person.paths, mode="on", writable=(device,))
    plan = walls.enclose(str(person.work), USUAL, {}, scratch="s1").plan
    done = run(opening, cwd=str(person.work), env={}, timeout=60, cancel=Switch(), sandbox=plan)
    assert done.output == "opened\n"


@pytest.mark.parametrize(
    "command",
    [
        "script -qec 'tty && echo seen > /dev/tty' /dev/null",
        "python3 -c \"import pty; pty.spawn(['sh', '-c', 'tty && test -t 0 && echo seen'])\"",
        "tmux -f /dev/null new-session -d 'tty > t; echo seen >> t; tmux wait-for -S done' && "
        "tmux wait-for done; cat t",
    ],
    ids=["script", "pty", "tmux"],
)
def test_programs_open_terminals_of_their_own(
    person: Person, command: str, request: pytest.FixtureRequest
) -> None:
    if LANDLOCK in request.node.callspec.id:
        pytest.skip("a rule for these would open the terminals of others")
    if not shutil.which(command.split(maxsplit=1)[0]):
        pytest.skip("not installed here")
    output = person.run(command).output
    assert "/dev/pts/" in output
    assert "seen" in output


@pytest.mark.parametrize(
    "reading", ["cat /proc/{pid}/root{home}/.env", "nsenter -t {pid} -m cat {home}/.env"]
)
def test_no_command_reads_through_a_process_of_another_sandbox(
    person: Person, reading: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Given a command in the sandbox of another home, which sees this one, nothing can be read through it."""
    other = Person(tmp_path_factory.mktemp("other").resolve())
    shared = other.work / "pid"
    os.mkfifo(shared)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            other.run,
            f"cat {person.home}/.env > /dev/null && echo $$ > pid && cat pid; echo ended",
            SandboxReach(visible=(str(person.home),)),
        )
        pid = shared.read_text().strip()
        command = reading.format(pid=pid, home=person.home)
        done = person.run(f"{command}; ls -d /proc/{pid}")
        shared.write_text("go on\n")
        assert waiting.result().output == "go on\nended\n"
    assert SECRET not in done.output
    assert f"/proc/{pid}\n" in done.output


WRITES = (
    "echo evil > ~/.hermes-jobs/.env",
    "echo evil >> ~/.hermes-jobs/config.yaml",
    "mkdir -p ~/.hermes-jobs/plugins/evil && echo evil > ~/.hermes-jobs/plugins/evil/__init__.py",
    "echo evil > ~/.hermes-jobs/skills/a/SKILL.md",
    "echo evil > ~/.hermes-jobs/results/r.txt",
    "rm -rf ~/.hermes-jobs",
    "echo evil >> ~/.ssh/authorized_keys",
    "rm -rf ~/.ssh",
    "echo evil >> ~/.bashrc",
    "sed -i s/open/evil/ ~/.bashrc",
    "mv ~/.zshrc ~/.bashrc",
    "cp /etc/hostname ~/.zshrc",
)


@pytest.mark.parametrize("write", sampled(WRITES, 3, in_ci=2))
def test_no_command_changes_hidden_or_locked_files(person: Person, write: str) -> None:
    before = {path: path.read_text() for path in person.folder.rglob("*") if path.is_file()}
    person.run(write)
    assert {path: path.read_text() for path in person.folder.rglob("*") if path.is_file()} == before


EVERYDAY = (
    "echo x > f && cat f && rm f",
    "mkdir -p a/b && touch a/b/c && ls -R && rm -r a",
    "f=$(mktemp -p /var/tmp) && echo x > $f && rm $f",
    "git init -q . && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x",
    "printf 'all:\\n\\techo made\\n' > Makefile && make",
    "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()'",
    "python3 -c 'import multiprocessing as m; m.Lock(); print(m.cpu_count())'",
    "cat ~/.hermes-jobs/results/r.txt ~/.hermes-jobs/skills/a/SKILL.md",
    "ls ~ / /etc /proc > /dev/null; cat /etc/hostname /proc/self/status > /dev/null",
    "cat ~/.bashrc && bash -ic true",
    "ps > /dev/null; sleep 0.01 & kill $!",
    "head -c 10 /dev/urandom | wc -c; echo x > /dev/null; echo y | tee /dev/stderr",
    "cat <(echo x) && (cd / && ls > /dev/null)",
    "ln -s f l && chmod +x . && find . -name l",
)


@pytest.mark.parametrize(
    "command",
    sampled((each for each in EVERYDAY if shutil.which(each.split()[0]) or "=" in each), 4),
)
def test_everyday_commands_work_as_ever(person: Person, command: str) -> None:
    done = person.run(command)
    assert done.exit_code == 0, done.output


def test_nothing_is_made_in_the_home_folder_or_outside_the_working_folder(person: Person) -> None:
    done = person.run("echo x > ~/new; mkdir ~/.config/autostart ~/.local; echo x > /etc/new; echo x > /new")
    assert done.exit_code != 0
    assert not any(path.exists() for path in (person.folder / "new", Path("/etc/new"), Path("/new")))
    assert not (person.folder / ".config/autostart").exists()
    assert not (person.folder / ".local").exists()


def test_an_approved_command_sees_keys_and_still_not_the_home(person: Person) -> None:
    done = person.run(
        "cat ~/.ssh/id_rsa; echo x >> ~/.bashrc; cat ~/.hermes-jobs/.env",
        SandboxReach(visible=None, approved=True),
    )
    assert done.output.count(SECRET) == 1
    assert (person.folder / ".bashrc").read_text() == "open to seex\n"


def test_programs_see_their_own_credentials_and_no_others(person: Person) -> None:
    done = person.run("cat ~/.ssh/id_rsa ~/.aws/credentials", SandboxReach(visible=(".ssh",)))
    assert done.output.count(SECRET) == 1


def test_files_made_visible_by_the_user_are_readable(person: Person) -> None:
    plan = Sandbox(paths=person.paths, mode="on", visible=("~/.aws", ".netrc")).enclose(
        str(person.work), SandboxReach(), {}, scratch="s1"
    )
    lines = plan.plan.splitlines()
    assert f"hidden {person.folder}/.ssh" in lines
    assert not {f"hidden {person.folder}/.aws", f"hidden {person.folder}/.netrc"} & set(lines)


def test_a_wall_that_cannot_be_raised_stops_the_command(person: Person) -> None:
    plan = person.plan()
    broken = plan.replace(f"home {person.home}", "home /nowhere/at/all").replace("landlock", "unknown")
    done = run("echo ran", cwd="/", env={}, timeout=20, cancel=Switch(), sandbox=broken)
    assert done.exit_code == 126
    assert "The sandbox could not be set up" in done.output
    assert "ran\n" not in done.output


def test_a_working_folder_in_the_home_is_refused(tmp_path: Path) -> None:
    person = Person(tmp_path.resolve())
    with pytest.raises(ToolFailed, match="lies in the home of hermes-jobs"):
        Sandbox(paths=person.paths, mode="off").enclose(
            str(person.home / "results"), SandboxReach(), {}, scratch="s1"
        )


def test_a_container_of_the_home_folder_sees_neither_keys_nor_the_home(tmp_path: Path) -> None:
    person = Person(tmp_path.resolve())
    found = Sandbox(paths=person.paths).in_container(str(person.folder), USUAL, {})
    names = [os.path.relpath(each, person.folder) for each in found.hidden]
    assert names == [".aws", ".config/gh", ".hermes-jobs", ".netrc", ".ssh"]
    assert Sandbox(paths=person.paths).in_container(str(person.work), USUAL, {}).hidden == []


@pytest.mark.parametrize(("mode", "there_is"), [("auto", True), ("on", False), ("off", True)])
def test_without_a_layer_commands_run_unless_the_sandbox_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: sandbox.Mode, there_is: bool
) -> None:
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=NONE, why="an old kernel"))
    person = Person(tmp_path.resolve())
    made = Sandbox(paths=person.paths, mode=mode)
    if there_is:
        assert made.enclose(str(person.work), SandboxReach(), {}, scratch="s1").plan == ""
    else:
        with pytest.raises(ToolFailed, match="this host has no sandbox \\(an old kernel\\)"):
            made.enclose(str(person.work), SandboxReach(), {}, scratch="s1")


# --- commands of ours -------------------------------------------------------------------------------


OURS = f"{sys.executable} -m hermes_jobs"


@pytest.mark.parametrize(
    "command",
    [
        f"{OURS} config set terminal.policy allow",
        f"env -u {INSIDE_TOOL} {OURS} config set terminal.policy allow",
        f"env -i {OURS} turns approve t1",
        f"unset {INSIDE_TOOL}; (setsid {OURS} memory add x &) ; sleep 0.1; {OURS} skills approve x",
        f'env -u {INSIDE_TOOL} PYTHONPATH={ROOT} {sys.executable} -c "'
        "from hermes_jobs.settings import load; from hermes_jobs.bootstrap import Application; "
        "Application(load({'HOME': '/nowhere'}), {})\"",
    ],
)
def test_our_own_commands_refuse_inside_a_tool_also_without_the_marker(tmp_path: Path, command: str) -> None:
    """Given a command of the agent without a sandbox, when it runs hermes-jobs, then that refuses."""
    person = Person(tmp_path.resolve())
    done = person.run(command, mode="off")
    assert "hermes-jobs is the user's to run" in done.output
    assert done.exit_code != 0
    assert (person.home / "config.yaml").read_text() == SECRET


def test_help_is_given_inside_a_tool_too(tmp_path: Path) -> None:
    done = Person(tmp_path.resolve()).run(f"{OURS} --help", mode="off")
    assert done.exit_code == 0
