"""What a container of a real engine leaves and shows: each test does the harm.

They skip where no engine answers.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace as changed
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools import guarded_files
from hermes_jobs.tools.background import BackgroundProcess, BackgroundProcesses
from hermes_jobs.tools.docker import DockerOptions, container_name, run_arguments
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.tools.toolbox import Toolbox

from . import real_docker
from .support import Switch, context_in, wait_until

pytestmark = pytest.mark.slow
KEY = "NEEDLE"
KEYS = (".ssh/id_rsa", ".config/gh/hosts.yml", ".kube/config", ".npmrc", ".hermes-jobs/.env")


class Ground:
    """A person's home with keys, a folder in it, and the terminal in containers."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.processes = BackgroundProcesses(folder / ".hermes-jobs" / "run" / "processes")
        self.environ = {**os.environ, "HOME": str(folder)}
        self.own_home = folder / ".hermes-jobs"
        self.options = real_docker.OPTIONS
        self.work = folder / "project"
        self.work.mkdir()
        for name in KEYS:
            self.write(folder / name, KEY)

    def write(self, path: Path | str, text: str) -> Path:
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def repository(self, name: str = ".") -> Path:
        subprocess.run(["git", "init", "-q", str(self.work / name)], check=True)
        return self.work / name

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox(paths=PathPolicy(home=str(self.own_home), user_home=str(self.home)))

    def run(self, script: str, *, work: Path | None = None, **more: object) -> str:
        """What a script of the folder says: no rule on text has refused what is in it."""
        work = work or self.work
        (work / "build.sh").write_text(script)
        return self.call("sh build.sh", work=work, **more).content

    def call(self, command: str, *, work: Path | None = None, **more: object) -> ToolOutcome:
        paths = self.sandbox.paths
        options = TerminalOptions(
            policy=CommandPolicy(paths=paths),
            sandbox=self.sandbox,
            environ=self.environ,
            docker=self.options,
            background=self.processes,
        )
        tools = Toolbox(Terminal(options).tools, enabled=("terminal",))
        asked = ToolCall("x", "terminal", json.dumps({"command": command, "timeout": 60, **more}))
        context = replace(context_in(work or self.work), call=f"{uuid4().hex[:12]}-1-0")
        return tools.run(asked, context, None, Switch())

    def start(self, script: str) -> BackgroundProcess:
        self.run(script, background=True, name="mine")
        return self.processes.find("mine")

    def end(self) -> None:
        self.processes.kill_where(lambda _record: True, wait=True)
        self.processes.check_guards([str(self.work)])

    def is_over(self) -> bool:
        return all(each.is_over for each in self.processes.all())

    def left(self, where: Path | None = None) -> list[str]:
        """The files with the harm."""
        files = [path for path in (where or self.work).rglob("*") if path.is_file()]
        found = [path for path in files if path.name != "build.sh" and b"EVIL" in path.read_bytes()]
        kept = self.own_home / "quarantine"
        return [str(path.relative_to(self.home)) for path in found if not path.is_relative_to(kept)]


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    real_docker.need_engine()
    ground = Ground(tmp_path.resolve())
    yield ground
    ground.end()


MOVES = (
    "mv sub old; mkdir -p sub/.git/hooks; echo EVIL > sub/.git/hooks/pre-commit; echo EVIL > sub/.envrc",
    "cp -r sub copy; mv sub old; mv copy sub; echo EVIL >> sub/.git/hooks/pre-commit",
    "mv .vscode old; mkdir .vscode; echo EVIL > .vscode/tasks.json",
    "mv .git old; cp -r old .git; echo EVIL > .git/hooks/pre-push",
)


@pytest.mark.parametrize("script", MOVES)
@pytest.mark.parametrize("background", [False, True])
def test_a_protected_place_is_not_replaced_by_moving_the_folder_above_it(
    ground: Ground, script: str, background: bool
) -> None:
    ground.repository()
    ground.repository("sub")
    names = ("sub/.git/hooks/pre-commit", "sub/.envrc", ".vscode/tasks.json")
    mine = [ground.write(name, "mine") for name in names]
    if background:
        ground.start(script)
        wait_until(ground.is_over, "its end")
    else:
        ground.run(script)
    ground.end()
    left = [name for name in ground.left() if not name.startswith(("project/old/", "project/copy/"))]
    assert left == []
    assert [path.read_text() for path in mine] == ["mine"] * 3


STARTUP = (
    ".bashrc",
    ".zshenv",
    ".config/autostart/x.desktop",
    ".local/bin/git",
    ".ssh/rc",
    "bin/ls",
    ".gitconfig",
)


def test_in_the_home_folder_nothing_comes_to_run_by_itself_and_no_key_comes_into_sight(
    ground: Ground,
) -> None:
    """Given the home folder as the working folder, and folders with keys moved by the command before."""
    writes = "\n".join(f"mkdir -p $(dirname {name}); echo EVIL > {name}" for name in STARTUP)
    moves = "mv .config c; mv .kube k; mv .hermes-jobs h"
    said = ground.run(f"echo fine > project/a.txt\n{writes}\n{moves}", work=ground.home)
    assert (ground.home / "project" / "a.txt").exists(), said
    assert ground.left(ground.home) == []
    said += ground.run(f"cat {' '.join(KEYS)} c/gh/* k/* h/.env", work=ground.home)
    assert KEY not in said


def test_the_home_of_hermes_jobs_does_not_come_into_sight_by_moving_the_folder_above_it(
    ground: Ground,
) -> None:
    ground.own_home = ground.work / "deep" / "er" / "home"
    ground.write(ground.own_home / ".env", KEY)
    ground.run("mv deep other; mv other/er other/x")
    assert KEY not in ground.run("cat */*/home/.env */*/*/.env")


def test_a_folder_that_is_called_by_a_link_is_protected_as_well(ground: Ground) -> None:
    ground.repository()
    link = ground.home / "link"
    link.symlink_to(ground.work)
    said = ground.run("pwd; echo EVIL > .git/hooks/pre-commit", work=link)
    assert said.startswith(f"{link}\n")
    assert "Read-only file system" in said
    link.unlink()
    link.symlink_to(ground.home)
    assert KEY not in ground.run(f"cat {' '.join(KEYS)}", work=link)


@pytest.mark.parametrize("place", [".git/hooks", "sub/.git/hooks", "sub"])
def test_a_place_that_becomes_a_link_while_the_container_starts_shows_nothing(
    ground: Ground, place: str
) -> None:
    """Given a place that something replaces by a link after it was looked at, before it is mounted."""
    ground.repository()
    ground.repository("sub")
    target = ground.work / place
    places = ground.sandbox.in_container(str(ground.work), SandboxReach(), ground.environ)
    target.rename(ground.work / "old")
    keys = ground.home / "keys"
    for name in ("hooks", ".git/hooks"):
        ground.write(keys / name / "id_rsa", KEY)
        ground.write(keys / name / "config", KEY)
    ground.write(keys / ".git" / "config", "")
    target.symlink_to(keys / "hooks" if target.name == "hooks" else keys)
    words = run_arguments(
        ground.options,
        "cat .git/hooks/* sub/.git/hooks/*",
        name=container_name(uuid4().hex),
        places=places,
        user=f"{os.getuid()}:{os.getgid()}",
    )
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 125
    assert "was moved while the container was started" in ran.stdout + ran.stderr
    assert KEY not in ran.stdout + ran.stderr


def test_an_agent_with_keys_in_the_folder_is_not_reached(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.work)  # a path of a socket has at most a hundred characters
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind("agent.sock")
        assert "is one" in ground.run("[ -S agent.sock ] && echo is one")
        agent.listen()
        assert "is one" not in ground.run("[ -S agent.sock ] && echo is one")
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind("named.sock")
        assert "is one" in ground.run("[ -S named.sock ] && echo is one")
        ground.environ["SSH_AUTH_SOCK"] = str(ground.work / "named.sock")
        assert "is one" not in ground.run("[ -S named.sock ] && echo is one")


@pytest.mark.parametrize("network", [False, True])
def test_passwords_of_proxies_in_the_settings_of_docker_do_not_arrive(ground: Ground, network: bool) -> None:
    proxies = {"httpProxy": f"http://ann:{KEY}@proxy:1", "allProxy": f"http://ann:{KEY}@proxy:1"}
    ground.write(ground.home / ".docker" / "config.json", json.dumps({"proxies": {"default": proxies}}))
    ground.options = changed(ground.options, network=network)
    assert KEY not in ground.call("env").content


@pytest.mark.parametrize("name", ["a b", 'a,"b', "a'b", "a:b", "$HOME", "ä", "--x", "a\\b", "a=b"])
def test_a_folder_with_an_odd_name_is_one_like_others(ground: Ground, name: str) -> None:
    ground.work = ground.home / name
    ground.repository()
    said = ground.run("pwd; echo fine > a.txt; cat a.txt; echo EVIL > .git/hooks/pre-commit")
    assert said.startswith(f"{ground.work}\nfine\n")
    assert "Read-only file system" in said


def test_a_name_that_docker_does_not_take_is_said_and_in_the_folder_does_no_harm(ground: Ground) -> None:
    ground.repository("a\nb")
    assert ground.call("echo fine").content == "fine\n"
    work = ground.home / "a\nb"
    work.mkdir()
    assert "Docker cannot take the name" in ground.call("echo fine", work=work).content


def test_many_repositories_are_no_hindrance(ground: Ground) -> None:
    for number in range(60):
        git = ground.work / "a" / "long" / "name" / f"repository-{number}" / ".git"
        (git / "objects").mkdir(parents=True)
        (git / "hooks").mkdir()
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text("[core]\n")
    hooks = "a/long/name/repository-59/.git/hooks"
    said = ground.run(f"echo fine; echo EVIL > {hooks}/pre-push")
    assert said.startswith("fine\n")
    assert ground.left() == []


def test_what_is_typed_arrives(ground: Ground) -> None:
    process = ground.start("read line; echo got $line; sleep 1000")
    ground.processes.type_text(process, "hello\n", "key")
    wait_until(lambda: ground.processes.output(process, 0, 99).data == b"got hello\n", "the answer")


@pytest.mark.parametrize("killed", ["keeper", "client"])
def test_the_container_of_a_background_process_ends_with_its(ground: Ground, killed: str) -> None:
    process = ground.start("sleep 1000")
    name = container_name(process.record.call)
    wait_until(lambda: name in real_docker.containers(), "the container")
    os.kill(process.status.keeper if killed == "keeper" else process.status.pid, 9)
    wait_until(ground.is_over, "its end")
    wait_until(lambda: name not in real_docker.containers(), "the end of the container")


def test_the_container_of_a_worker_that_was_killed_with_its_supervisor_ends_before_the_next_command(
    ground: Ground,
) -> None:
    """Given nobody who could end it, what it writes later is undone, too."""
    ground.repository()
    guard = ground.sandbox.guard([str(ground.work)], guarded_files.find([str(ground.work)]))
    name = container_name(uuid4().hex)
    left = replace(guard, afterwards=("docker", "rm", "--force", name))
    ground.processes.guards.hold_for("gone", left)
    places = ground.sandbox.in_container(str(ground.work), SandboxReach(), ground.environ)
    script = "echo EVIL > .envrc; sleep 1000"
    user = f"{os.getuid()}:{os.getgid()}"
    words = run_arguments(ground.options, script, name=name, places=places, user=user)
    assert real_docker.docker("run", "--detach", *words[2:]).returncode == 0
    wait_until((ground.work / ".envrc").exists, "the harm")
    assert ".envrc: files that run by themselves later" in ground.call("true").content
    assert ground.left() == []
    assert name not in real_docker.containers()


FAILURES = {
    "the image nobody/has:it is not on this machine": DockerOptions(image="nobody/has:it", shell="sh"),
    "terminal.docker.image is not a name of an image: A B": DockerOptions(image="A B"),
    f"the image {real_docker.IMAGE} has no bash": DockerOptions(image=real_docker.IMAGE),
    "Docker does not take terminal.docker.memory: lots": changed(real_docker.OPTIONS, memory="lots"),
}


@pytest.mark.parametrize("said", FAILURES)
def test_why_nothing_was_run_is_said(ground: Ground, said: str) -> None:
    ground.options = FAILURES[said]
    content = ground.call("touch made").content
    assert f"[Nothing was run: {said}" in content
    assert "--help" not in content
    assert not (ground.work / "made").exists()


def test_the_limit_of_memory_is_named_where_it_may_have_been_reached(ground: Ground) -> None:
    ground.options = changed(ground.options, memory="8m")
    content = ground.call("exec awk 'BEGIN { a = \"0123456789abcdef\"; while (1) a = a a }'").content
    assert "a container gets 8m of memory (terminal.docker.memory)" in content
