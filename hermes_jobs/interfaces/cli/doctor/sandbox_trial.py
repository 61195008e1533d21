"""The check of `hermes-jobs doctor` that tries the sandbox: what a command in it can read and write."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hermes_jobs.bootstrap.toolbox import docker_options
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.tools import installation
from hermes_jobs.tools.container_places import ContainerPlaces
from hermes_jobs.tools.docker import container_name, run_arguments
from hermes_jobs.tools.environment import filtered_environment
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.processes import run
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.sensitive_paths import paths_in, secret_places, system_places

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

SECONDS = 20.0
PLANTED = ".doctor-key"

PROBE = """
reads() { [ "$(cat "$1" "$1"/* "$1"/*/* 2>/dev/null | head -c 1 | wc -c)" -gt 0 ]; }
writes() {
    if [ -d "$1" ]; then set -- "$1/.hermes-jobs-doctor"; fi
    if [ -e "$1" ]; then (exec 3<>"$1"); else (set -C; : > "$1") && rm "$1"; fi
}
for path in "${@:2:$1}"; do if reads "$path"; then printf 'read %s\\n' "$path"; fi; done
for path in "${@:$1 + 2}"; do if writes "$path" 2>/dev/null; then printf 'write %s\\n' "$path"; fi; done
echo tried
"""


def try_sandbox(settings: Settings, environ: Mapping[str, str]) -> tuple[int, int, list[str], list[str]]:
    """The number of keys and of protected places, and those of them that a command could read and write.

    It runs in the sandbox, or in a container if that is the backend. A key is planted in the home for it,
    and a terminal opened; what is written is removed. Raises `HermesJobsError`, `OSError`, `ValueError` if
    nothing could be tried.
    """
    user_home = environ.get("HOME", "/")
    planted = settings.paths.run / PLANTED
    planted.write_text("a planted key")
    system = (
        () if docker_options(settings) else system_places(user_home)
    )  # an image has files of its own there
    keys = list(dict.fromkeys((str(planted), *secret_places(user_home), *system)))
    places = [
        *installation.places(),
        *installation.program_folders(environ.get("PATH", "")),
        *(str(Path(user_home, place)) for place in paths_in("startup")),
        *(user_home, "/etc", "/usr", str(settings.paths.home)),
    ]
    places = [place for place in dict.fromkeys(places) if Path(place).parent.is_dir()]
    ends = os.openpty()
    places.append(os.ttyname(ends[1]))
    words = ["bash", "-c", PROBE, "probe", str(len(keys)), *keys, *places]
    try:
        with TemporaryDirectory(prefix="hermes-doctor-") as folder:
            output = _run(settings, environ, shlex.join(words), folder)
    finally:
        planted.unlink(missing_ok=True)
        for end in ends:
            os.close(end)
    *found, last = output.splitlines() or [""]
    if last != "tried":
        raise ValueError(output.strip()[-300:] or "the command said nothing")
    read, written = (
        [line.removeprefix(verb) for line in found if line.startswith(verb)] for verb in ("read ", "write ")
    )
    return len(keys), len(places), read, written


def _run(settings: Settings, environ: Mapping[str, str], command: str, folder: str) -> str:
    """The output of a command, as the terminal would run it in that folder."""
    docker, plan = docker_options(settings), ""
    env: Mapping[str, str] = filtered_environment(environ, settings.secrets.values)
    if docker:
        user = f"{os.getuid()}:{os.getgid()}"
        name = container_name(f"doctor-{os.getpid()}")
        places = ContainerPlaces.of(folder, [str(Path(folder).resolve())], (), ())
        command = shlex.join(run_arguments(docker, command, name=name, places=places, user=user))
    else:
        paths = PathPolicy(home=str(settings.paths.home), user_home=environ.get("HOME", "/"))
        box = Sandbox(paths=paths, mode=settings.terminal.sandbox)
        enclosure = box.enclose(folder, SandboxReach(), env, scratch="doctor")
        plan, env = enclosure.plan, enclosure.environment
    cancel = CancelToken()
    return run(command, cwd=folder, env=env, timeout=SECONDS, cancel=cancel, sandbox=plan).output
