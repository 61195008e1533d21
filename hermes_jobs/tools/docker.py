"""Arguments of `docker` for one command in a container that can write nothing but the working folder.

Sources: `docker run --help` and the engine's reference on run, mounts and security options.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hermes_jobs.tools.environment import NO_TERMINAL

PROGRAM = "docker"
DOCKER_FAILED = 125
"""The exit code of `docker run` when docker, not the command, failed."""


@dataclass(frozen=True, kw_only=True)
class DockerOptions:
    """The image must be on the host already: a pull would outlast a command's time limit.

    `network`: with it a command reaches whatever the host reaches. `memory` and `tmp` are sizes as docker
    writes them; `memory` counts swap too. `environment` is for the command, and holds no secret.
    """

    image: str = "python:3-slim"
    shell: str = "bash"
    network: bool = False
    memory: str = "1g"
    tmp: str = "512m"
    processes: int = 256
    environment: Mapping[str, str] = field(default_factory=dict)


def container_name(call: str) -> str:
    """The name of the container in which the call with that id runs."""
    return f"hermes-{re.sub(r'[^a-zA-Z0-9_.-]', '-', call)}"


def run_arguments(
    options: DockerOptions,
    command: str,
    *,
    name: str,
    workdir: str,
    user: str,
    hidden: Sequence[str] = (),
    locked: Sequence[str] = (),
) -> tuple[str, ...]:
    """The command line that runs a shell command in the folder as `user` (`uid:gid`) and waits for it.

    `hidden` are files and folders below `workdir` in whose place the container sees nothing; it cannot write
    `locked` ones.
    """
    environment = {"HOME": "/tmp", **options.environment, **NO_TERMINAL}
    return (
        *(PROGRAM, "run", "--rm", "--init", "--pull", "never", "--name", name),
        *("--network", "bridge" if options.network else "none"),
        *("--read-only", "--tmpfs", f"/tmp:rw,exec,nosuid,nodev,size={options.tmp},mode=1777"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--pids-limit", str(options.processes)),
        *("--memory", options.memory, "--memory-swap", options.memory),
        *("--log-driver", "none"),  # the output is read as it comes; a copy would fill the disk
        *("--user", user, "--mount", _mount(workdir), "--workdir", workdir),
        *(word for path in locked for word in ("--mount", _mount(path, "readonly"))),
        *(word for path in hidden for word in ("--mount", _cover(path))),
        *(word for pair in environment.items() for word in ("--env", "=".join(pair))),
        *("--entrypoint", options.shell, options.image, "-c", command),
    )


def remove_arguments(name: str) -> tuple[str, ...]:
    """The command line that kills and removes the container, in any state."""
    return (PROGRAM, "rm", "--force", "--volumes", name)


def describe(options: DockerOptions) -> str:
    """The model's description of the environment of its commands."""
    network = "the network" if options.network else "no network"
    return (
        f"It runs in a container ({options.image}) with {network}. Of this host it sees the working folder "
        "alone; only there and in /tmp can it write, and what is in /tmp is gone after the call."
    )


def _mount(path: str, *options: str) -> str:
    """The file or folder at its own path."""
    return _csv("type=bind", f"source={path}", f"target={path}", *options)


def _cover(path: str) -> str:
    """An empty file or folder over the path."""
    if os.path.isdir(path):  # noqa: PTH112
        return _csv("type=tmpfs", f"target={path}", "tmpfs-mode=0555")
    return _csv("type=bind", "source=/dev/null", f"target={path}", "readonly")


def _csv(*fields: str) -> str:
    """Docker reads the option as a line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
