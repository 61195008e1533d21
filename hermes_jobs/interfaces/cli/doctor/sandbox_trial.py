"""The check of `hermes-jobs doctor` that tries the sandbox: what a command in it can read and write."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.tools import installation
from hermes_jobs.tools.environment import filtered_environment
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.processes import run
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.sensitive_paths import paths_in, secret_places

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

SECONDS = 20.0
PLANTED = ".doctor-key"

PROBE = """
import json, os, sys
read, written = json.loads(sys.argv[1]), json.loads(sys.argv[2])
def reads(path):
    try:
        if os.path.isdir(path):
            return any(reads(os.path.join(path, name)) for name in os.listdir(path)[:5])
        with open(path, "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False
def writes(path):
    try:
        if os.path.isdir(path):
            path = os.path.join(path, ".hermes-jobs-doctor")
        if os.path.exists(path):
            os.close(os.open(path, os.O_WRONLY))
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.unlink(path)
        return True
    except OSError:
        return False
print(json.dumps([[path for path in read if reads(path)], [path for path in written if writes(path)]]))
"""


def try_sandbox(settings: Settings, environ: Mapping[str, str]) -> tuple[int, int, list[str], list[str]]:
    """The number of keys and of protected places, and those of them that a command could read and write.

    A key is planted in the home for it; what is written is removed. Raises `HermesJobsError`, `OSError`.
    """
    user_home = environ.get("HOME", "/")
    paths = PathPolicy(home=str(settings.paths.home), user_home=user_home)
    planted = settings.paths.run / PLANTED
    planted.write_text("a planted key")
    keys = [str(planted), *secret_places(user_home)]
    places = [
        *installation.places(),
        *installation.program_folders(environ.get("PATH", "")),
        *(str(Path(user_home, place)) for place in paths_in("startup")),
        *(user_home, "/etc", "/usr", str(settings.paths.home)),
    ]
    places = [place for place in dict.fromkeys(places) if Path(place).parent.is_dir()]
    try:
        with TemporaryDirectory(prefix="hermes-doctor-") as folder:
            env = filtered_environment(environ, settings.secrets.values)
            box = Sandbox(paths=paths, mode=settings.terminal.sandbox)
            enclosure = box.enclose(folder, SandboxReach(), env, scratch="doctor")
            words = [sys.executable, "-I", "-S", "-c", PROBE, json.dumps(keys), json.dumps(places)]
            completed = run(
                shlex.join(words),
                cwd=folder,
                env=enclosure.environment,
                timeout=SECONDS,
                cancel=CancelToken(),
                sandbox=enclosure.plan,
            )
    finally:
        planted.unlink(missing_ok=True)
    read, written = json.loads(completed.output.splitlines()[-1])
    return len(keys), len(places), read, written
