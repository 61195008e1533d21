"""The server that forks supervisors: what ends with it, what does not, and what ends it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hermes_jobs.tools import supervisors
from hermes_jobs.tools.processes import Completed, run

from .support import Switch, wait_until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pidfds")

WORKER = """
import os, sys
from hermes_jobs.tools.processes import run
from tests.tools.support import Switch
text, folder = sys.argv[1:]
env = {"PATH": os.environ["PATH"]}
run("true", cwd=folder, env=env, timeout=1000, cancel=Switch())
child = os.fork()
done = run(text, cwd=folder, env=env, timeout=1000, cancel=Switch())
print(done.output.strip(), flush=True)
if child:
    os.waitpid(child, 0)
"""


def command(text: str, folder: Path) -> Completed:
    env = {"PATH": os.environ["PATH"]}
    return run(text, cwd=str(folder), env=env, timeout=60, cancel=Switch())


def server() -> psutil.Process:
    return psutil.Process(supervisors._servers[os.getpid()]._process.pid)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[Completed]]:
    """A command that runs until a file `go` is there; its outcome."""
    done: list[Completed] = []
    text = "echo begun; touch ready; until test -e go; do sleep 0.01; done; echo ended"
    thread = threading.Thread(target=lambda: done.append(command(text, tmp_path)))
    thread.start()
    wait_until((tmp_path / "ready").exists, "the command to begin")
    yield done
    (tmp_path / "go").touch()
    thread.join()


def test_all_commands_of_a_process_have_the_same_server(tmp_path: Path) -> None:
    command("true", tmp_path)
    first = server()
    assert command("echo $PPID", tmp_path).exit_code == 0
    assert server() == first


def test_a_command_continues_when_the_server_is_killed_and_the_next_one_has_another(
    running: list[Completed], tmp_path: Path
) -> None:
    first = server()
    first.kill()
    first.wait()
    assert command("echo next", tmp_path).output == "next\n"
    assert server() != first
    (tmp_path / "go").touch()
    wait_until(lambda: bool(running), "the first command to end")
    assert running == [Completed(exit_code=0, output="begun\nended\n")]


def test_nothing_is_left_of_ended_supervisors(tmp_path: Path) -> None:
    for _ in range(3):
        command("true", tmp_path)
    wait_until(lambda: server().children() == [], "the server to reap them")


def test_the_server_knows_nothing_of_the_workers_environment(tmp_path: Path) -> None:
    command("true", tmp_path)
    assert server().environ() == {}


def test_a_folder_that_is_not_there_is_an_error_and_the_server_stays(tmp_path: Path) -> None:
    command("true", tmp_path)
    first = server()
    with pytest.raises(FileNotFoundError):
        command("true", tmp_path / "gone")
    assert command("pwd", tmp_path).output == f"{tmp_path}\n"
    assert server() == first


def test_a_request_larger_than_a_socket_holds_arrives(tmp_path: Path) -> None:
    env = {f"V{number}": "x" * 10_000 for number in range(60)} | {"PATH": os.environ["PATH"]}
    text = f"true {'y' * 90_000}; echo ${{#V59}}"
    done = run(text, cwd=str(tmp_path), env=env, timeout=60, cancel=Switch())
    assert done.output == "10000\n"


def test_where_there_is_no_server_each_supervisor_is_an_interpreter_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given another system: its commands, a wrong folder and a time limit."""
    monkeypatch.setattr(supervisors, "_server", lambda: None)
    assert command("pwd; exit 3", tmp_path) == Completed(exit_code=3, output=f"{tmp_path}\n")
    with pytest.raises(FileNotFoundError):
        command("true", tmp_path / "gone")
    env = {"PATH": os.environ["PATH"]}
    done = run("echo begun; sleep 1000", cwd=str(tmp_path), env=env, timeout=0.5, cancel=Switch())
    assert done == Completed(exit_code=None, output="begun\n", timed_out=True)


@pytest.mark.parametrize("killed", ["worker", "worker and server"])
def test_with_a_killed_worker_end_its_server_its_supervisors_and_its_commands(
    killed: str, tmp_path: Path
) -> None:
    """Given a worker that has forked another process, which still holds a copy of its socket."""
    text = "setsid sleep 1000 & sleep 1000 & touch ready.$PPID; wait"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, text, str(tmp_path)], cwd=ROOT)
    try:
        wait_until(lambda: len(list(tmp_path.glob("ready.*"))) == 2, "both commands to begin")
        child = next(each for each in psutil.Process(worker.pid).children() if each.name() != "hermes-spawn")
        others = {child, *child.children(recursive=True)}
        own = set(psutil.Process(worker.pid).children(recursive=True)) - others
        assert {"hermes-spawn", "hermes-command", "bash", "sleep"} <= {each.name() for each in own}
        for each in own if killed == "worker and server" else ():
            if each.name() == "hermes-spawn":
                each.kill()
    finally:
        worker.kill()
        worker.wait()
    try:
        wait_until(lambda: not any(alive(each) for each in own), f"the end of {own}")
        assert all(map(alive, others))
    finally:
        child.kill()
    wait_until(lambda: not any(alive(each) for each in others), "all of the other one's to end")


def alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_forked_process_has_a_server_of_its_own(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", WORKER, "echo ran", str(tmp_path)]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("ran\nran\n", "")
