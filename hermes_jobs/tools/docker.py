"""Arguments of `docker` for one command in a container that can write nothing but the working folder.

Sources: `docker run --help` and the engine's reference on run, mounts and security options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes_jobs.tools.container_places import NOTHING_RUN, ContainerPlaces
from hermes_jobs.tools.environment import NO_TERMINAL

PROGRAM = "docker"
DOCKER_FAILED = 125
"""The exit code of `docker run` when docker, not the command, failed."""

_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
NO_PROXY = {name: "" for word in _PROXIES for name in (word, word.upper())}
"""The client would add the proxies of its own settings, with their passwords."""

_FAILURES = {
    r"No such image": (
        "the image {image} is not on this machine: `docker pull` gets it, terminal.docker.image names another"
    ),
    r"exec bash failed|exec: \"bash\": ": "the image {image} has no bash, which commands need",
    r"permission denied while trying to connect": "this user may not use Docker, which its group docker may",
    r"Cannot connect to the Docker daemon": "Docker does not run on this machine",
    r"invalid reference format": "terminal.docker.image is not a name of an image: {image}",
    r"flag: invalid size|Minimum memory limit": "Docker does not take terminal.docker.memory: {memory}",
}
"""What the user can do about what docker says, by its words."""
_USAGE = re.compile(r"\n+(?:Usage:  docker run .*\n+)?Run 'docker run --help' for more information\s*$")
_OWN_CODES = (DOCKER_FAILED, 126, 127)
_SAID_BY_DOCKER = re.compile(r"^(?:docker: |\[FATAL tini)", re.MULTILINE)
_LAST_CHARS = 2_000
OUT_OF_MEMORY = 137


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
    places: ContainerPlaces,
    user: str,
    interactive: bool = False,
) -> tuple[str, ...]:
    """The command line that runs a shell command in the folder as `user` (`uid:gid`) and waits for it.

    `interactive`: it reads what is typed.
    """
    environment = {"HOME": "/tmp", **NO_PROXY, **options.environment, **NO_TERMINAL}
    return (
        *(PROGRAM, "run", "--rm", "--init", "--pull", "never", "--name", name),
        *(["--interactive"] if interactive else []),
        *("--network", "bridge" if options.network else "none"),
        *("--read-only", "--tmpfs", f"/tmp:rw,exec,nosuid,nodev,size={options.tmp},mode=1777"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--pids-limit", str(options.processes)),
        *("--memory", options.memory, "--memory-swap", options.memory),
        *("--log-driver", "none"),  # the output is read as it comes; a copy would fill the disk
        *("--user", user, "--workdir", places.workdir),
        *(word for mount in places.mounts() for word in ("--mount", mount)),
        *(word for pair in environment.items() for word in ("--env", "=".join(pair))),
        *("--entrypoint", options.shell, options.image, *places.script(options.shell, command)),
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


def without_usage(output: str) -> str:
    """The output without docker's advice on how to call it."""
    return _USAGE.sub("\n", output)


def explanation(options: DockerOptions, code: int | None, output: str) -> str:
    """What the end of a container means where it does not tell by itself; empty for a usual one."""
    if code == OUT_OF_MEMORY:
        return (
            f"[Something was killed: a container gets {options.memory} of memory (terminal.docker.memory).]"
        )
    if code not in _OWN_CODES:
        return ""
    last = output[-_LAST_CHARS:]
    why = next((text for words, text in _FAILURES.items() if re.search(words, last)), "")
    if why and (code == DOCKER_FAILED or _SAID_BY_DOCKER.search(last)):
        return f"[Nothing was run: {why.format(image=options.image, memory=options.memory)}. Tell the user.]"
    if code == DOCKER_FAILED and not output.endswith(NOTHING_RUN):
        return "[docker itself failed: the command was not run, or its end is unknown. Tell the user.]"
    return ""
