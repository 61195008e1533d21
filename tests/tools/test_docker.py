"""The terminal in containers: what docker is asked for, and that a container ends with its call.

The life of a container is tried with a stand-in (see `stand_in_docker`) and with a real engine, where one
answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.container_places import CHECK, ContainerPlaces
from hermes_jobs.tools.docker import NO_PROXY, DockerOptions, container_name, remove_arguments, run_arguments
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.tools.toolbox import Toolbox

from . import real_docker
from .stand_in_docker import Engine, stand_in_docker
from .support import Switch, context_in, wait_until

ROOT = Path(__file__).parents[2]
STAND_IN, REAL = "stand-in", "real"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with stand_in_docker(tmp_path) as engine:
        yield engine


class Ground:
    """A folder, an engine, and the terminal's tool: with the stand-in or a real engine."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.options = DockerOptions() if kind == STAND_IN else real_docker.OPTIONS
        self.call = f"t{uuid4().hex[:12]}-1-0"
        self.stand_in: Engine | None = None

    @property
    def is_running(self) -> bool:
        """Whether the container of the call is there."""
        name = container_name(self.call)
        return name in (self.stand_in.running if self.stand_in else real_docker.containers(name))

    def run(
        self, command: str, *, cancel: Switch | None = None, timeout: float = 20, **environ: str
    ) -> ToolOutcome:
        asked = ToolCall("x", "terminal", json.dumps({"command": command, "timeout": timeout}))
        tools = terminal_in(self.folder, self.options, **environ)
        return tools.run(asked, self.context(), None, cancel or Switch())

    def context(self) -> ToolContext:
        return replace(context_in(self.folder), call=self.call)


@pytest.fixture(params=[STAND_IN, pytest.param(REAL, marks=pytest.mark.slow)])
def ground(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ground]:
    ground = Ground(request.param, tmp_path)
    if request.param == REAL:
        real_docker.need_engine()
        yield ground
        assert not ground.is_running
        return
    with stand_in_docker(tmp_path) as ground.stand_in:
        yield ground


def terminal_in(folder: Path, docker: DockerOptions, **environ: str) -> Toolbox:
    paths = PathPolicy(home=str(folder / "home"), user_home=str(folder / "person"))
    stand_in = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "DOCKER_HOST": f"unix://{folder / 'docker.sock'}",
    }
    environ = {**(stand_in if (folder / "bin").exists() else os.environ), **environ}
    options = TerminalOptions(
        policy=CommandPolicy(paths=paths), sandbox=Sandbox(paths=paths), environ=environ, docker=docker
    )
    return Toolbox(Terminal(options).tools, enabled=("terminal",))


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., ToolOutcome]:
    return Ground(STAND_IN, tmp_path).run


# --- what docker is asked for --------------------------------------------------------------------


def arguments(options: DockerOptions | None = None, workdir: str = "/srv/work") -> list[str]:
    places = ContainerPlaces.of(workdir, [workdir], (), ())
    return list(
        run_arguments(
            options or DockerOptions(), "ls | wc", name="hermes-t1-1-0", places=places, user="1000:100"
        )
    )


def value(option: str, asked: list[str]) -> str:
    return asked[asked.index(option) + 1]


def test_programs_can_run_in_the_containers_tmp():
    """Docker mounts a tmpfs `noexec` unless told otherwise; `go test` runs what it has built there."""
    assert "exec" in value("--tmpfs", arguments()).partition(":")[2].split(",")


def test_the_container_is_shut_in_and_bounded():
    asked = arguments()
    assert asked[:2] == ["docker", "run"]
    assert {"--rm", "--init", "--read-only"} <= set(asked)
    for option, wanted in {
        "--network": "none",
        "--cap-drop": "ALL",
        "--security-opt": "no-new-privileges",
        "--pids-limit": "256",
        "--memory": "1g",
        "--memory-swap": "1g",
        "--pull": "never",
        "--log-driver": "none",
        "--user": "1000:100",
        "--name": "hermes-t1-1-0",
        "--workdir": "/srv/work",
        "--entrypoint": "bash",
    }.items():
        assert value(option, asked) == wanted
    assert asked[-5:] == ["python:3-slim", "-c", CHECK, "bash", "ls | wc"]
    assert not {"--privileged", "--publish", "--volume", "--cap-add", "--device"} & set(asked)


def test_only_the_working_folder_is_mounted_also_with_odd_names():
    assert value("--mount", arguments()) == "type=bind,source=/srv/work,target=/srv/work"
    assert arguments().count("--mount") == 1
    assert value("--mount", arguments(workdir='/a,b "c"')) == (
        'type=bind,"source=/a,b ""c""","target=/a,b ""c"""'
    )


def test_the_network_is_there_only_where_it_is_allowed():
    assert value("--network", arguments(DockerOptions(network=True))) == "bridge"


def test_nothing_of_our_environment_is_passed_on():
    asked = arguments()
    given = [asked[i + 1].split("=")[0] for i, each in enumerate(asked) if each == "--env"]
    assert set(given) - NO_PROXY.keys() == {
        "TERM",
        "PAGER",
        "GIT_PAGER",
        "MANPAGER",
        "GIT_TERMINAL_PROMPT",
        "HOME",
    }


def test_a_container_is_named_by_its_call_in_letters_that_docker_takes():
    assert container_name("t1-2-0") == "hermes-t1-2-0"
    assert container_name("t/ä 1") == "hermes-t---1"
    assert remove_arguments("hermes-t1")[:3] == ("docker", "rm", "--force")


def test_the_description_says_where_commands_run(tmp_path):
    (spec,) = terminal_in(tmp_path, DockerOptions(image="tools:1")).specs(None)
    assert "in a container (tools:1) with no network" in spec.description
    (spec,) = terminal_in(tmp_path, DockerOptions(network=True)).specs(None)
    assert "with the network" in spec.description


# --- its life ------------------------------------------------------------------------------------


def test_output_and_exit_code_come_back_from_the_container(ground: Ground) -> None:
    (ground.folder / "a.txt").write_text("hello\n")
    assert ground.run("cat a.txt") == ToolOutcome(content="hello\n")
    assert ground.run("cat a.txt; exit 3").content == "hello\n[exit code 3]"


def test_a_command_is_passed_on_as_it_is(ground: Ground) -> None:
    command = "printf '%s\\n' \"$((1 + 1))\" 'it''s' \"a  b\" $'\\t;' | cat # é"
    assert ground.run(command).content == "2\nits\na  b\n\t;\n"


def test_both_streams_arrive_in_their_order(ground: Ground) -> None:
    command = "for i in 1 2 3; do echo out $i; echo err $i >&2; done"
    assert ground.run(command).content == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


def test_much_output_keeps_its_beginning_and_its_end(ground: Ground) -> None:
    content = ground.run("seq 1 100000").content
    assert content.startswith("1\n2\n")
    assert content.rstrip().endswith("\n100000")


@pytest.mark.parametrize("stubborn", ["", "yes"])
def test_a_timeout_ends_the_container_too(ground: Ground, stubborn: str) -> None:
    outcome = ground.run("echo begun; trap '' TERM; sleep 1000; sleep 1000", timeout=3, STUBBORN=stubborn)
    assert outcome.content.startswith("begun\n[The command was killed after 3 s")
    wait_until(lambda: not ground.is_running, "the container to end")


def test_a_cancel_ends_the_container_too(ground: Ground) -> None:
    switch = Switch()
    outcomes: list[ToolOutcome] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(ground.run("touch ready; sleep 1000", cancel=switch, timeout=600))
    )
    thread.start()
    wait_until((ground.folder / "ready").exists, "the command to begin")
    switch.fire()
    thread.join(30)
    assert outcomes[0].interrupted
    wait_until(lambda: not ground.is_running, "the container to end")


WORKER = """
import sys
from pathlib import Path
from hermes_jobs.kernel.turns.messages import ToolCall
from tests.tools.support import Switch
from tests.tools.test_docker import Ground, terminal_in
ground = Ground(sys.argv[2], Path(sys.argv[1]))
ground.call = sys.argv[3]
asked = ToolCall("x", "terminal", '{"command": "touch ready; sleep 1000", "timeout": 600}')
terminal_in(ground.folder, ground.options).run(asked, ground.context(), None, Switch())
"""


def test_killing_the_worker_ends_the_container_too(ground: Ground) -> None:
    words = [sys.executable, "-c", WORKER, str(ground.folder), ground.kind, ground.call]
    ready = ground.folder / "ready"
    worker = subprocess.Popen(words, cwd=ROOT)
    try:
        wait_until(lambda: ready.exists() or worker.poll() is not None, "the command to begin")
        assert worker.poll() is None
        assert ground.is_running
    finally:
        worker.kill()
        worker.wait()
    wait_until(lambda: not ground.is_running, "the container to end")


def test_killing_the_supervisor_ends_the_container_too(ground: Ground) -> None:
    outcomes: list[ToolOutcome] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(ground.run("touch ready; sleep 1000", timeout=600))
    )
    thread.start()
    wait_until((ground.folder / "ready").exists, "the command to begin")
    named = (each for each in psutil.process_iter(["name", "cwd"]) if each.info["name"] == "hermes-command")
    supervisors = [each for each in named if each.info["cwd"] == str(ground.folder)]
    assert len(supervisors) == 1
    supervisors[0].kill()
    thread.join(30)
    assert "killed the process that supervised it" in outcomes[0].content
    wait_until(lambda: not ground.is_running, "the container to end")


# --- where there is no docker --------------------------------------------------------------------


def test_without_docker_the_answer_says_so(terminal, tmp_path):
    outcome = terminal("touch made", PATH="/nowhere")
    assert not outcome.ok
    assert "terminal.backend is docker, but there is no `docker` on this host" in outcome.content
    assert not (tmp_path / "made").exists()


def test_an_engine_that_is_not_there_is_dockers_failure_and_not_the_commands(terminal, tmp_path):
    with stand_in_docker(tmp_path):
        pass
    content = terminal("true").content
    assert content.startswith("Cannot connect to the Docker daemon.")
    assert "[exit code 125]" in content
    assert "Nothing was run: Docker does not run on this machine." in content
