"""Play the suite: `python -m tests.conformance [SCENARIO ...]`; without names a choice, and the server.

The suite, and Node where it is missing or too old, are installed by npm into `.conformance`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance.bridge import serving
from tests.conformance.door import served_door
from tests.processes import ROOT

FOLDER = ROOT / ".conformance"
SUITE = "@modelcontextprotocol/conformance@0.1.16"
NODE = "node@22"  # the suite calls functions that Node 20 lacks
MODULES = FOLDER / "node_modules"
PROGRAM = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
EXPECTED = str(ROOT / "tests/conformance/expected-failures.yml")
CLIENT = f"{sys.executable} -m tests.conformance.client"
MILLISECONDS = "180000"  # of a client's scenario, on a machine that does other things too
AT_ONCE = 3
CORE = ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "auth/metadata-default")
TIMED = ("sse-retry",)
"""Fails where the reconnection takes twice as long as it should, as it may on a busy machine."""


class CannotInstall(Exception):
    """The suite cannot be had here. The message is the reason."""


def main(scenarios: Sequence[str]) -> int:
    """The worst exit code of the suite's runs."""
    try:
        install()
    except CannotInstall as error:
        sys.stderr.write(f"{error}\n")
        return 1
    servers = () if scenarios else (over_stdio, over_http)
    return max(code for code, _ in play(scenarios or (*CORE, *TIMED), servers))


def install() -> None:
    """Have npm install the suite, unless it is there. Raises `CannotInstall`."""
    if PROGRAM.exists():
        return
    if shutil.which("npm") is None:
        raise CannotInstall("The conformance suite needs npm.")
    FOLDER.mkdir(exist_ok=True)
    packages = (SUITE,) if _own_node() else (SUITE, NODE)
    command = ["npm", "install", "--prefer-offline", "--no-audit", "--silent", "--prefix", str(FOLDER)]
    try:
        subprocess.run([*command, *packages], check=True, timeout=300)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"npm cannot install the conformance suite: {error}.") from error


def play(scenarios: Sequence[str], servers: Sequence[Callable[[], tuple[int, str]]]) -> list[tuple[int, str]]:
    """Play the clients' scenarios, and all of the suite's with these servers; the exit codes and outputs."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [pool.submit(server) for server in servers]
        runs += [pool.submit(_client, scenario) for scenario in scenarios]
        return [run.result() for run in runs]


def _client(scenario: str) -> tuple[int, str]:
    words = ("--command", CLIENT, "--scenario", scenario, "--timeout", MILLISECONDS)
    return _suite("client", *words, environ=dict(os.environ))


def over_stdio() -> tuple[int, str]:
    """Our server over stdio, with a home of its own and no model."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environ = {**os.environ, "HERMES_JOBS_HOME": home, "HERMES_JOBS_MODEL": "rehearsal"}
        bridge = serving(environ)
        try:
            return _suite("server", "--url", bridge.url, environ=environ)
        finally:
            bridge.shutdown()
            bridge.server_close()


def over_http() -> tuple[int, str]:
    """The same server at `/mcp` of `hermes-jobs serve`."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        served_door(Path(folder), {"HERMES_JOBS_MODEL": "rehearsal"}) as url,
    ):
        return _suite("server", "--url", url, environ=dict(os.environ))


def _suite(*words: str, environ: dict[str, str]) -> tuple[int, str]:
    """One run of the suite, whose output is printed when it is whole."""
    node = _own_node() or str(MODULES / ".bin/node")
    path = f"{Path(node).parent}{os.pathsep}{environ['PATH']}"
    with tempfile.TemporaryDirectory() as results:
        ran = subprocess.run(
            [node, str(PROGRAM), *words, "--expected-failures", EXPECTED],
            cwd=Path(results),
            env={**environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    sys.stdout.write(ran.stdout)
    return ran.returncode, ran.stdout


def _own_node() -> str | None:
    """This machine's Node, if the suite runs on it."""
    node = shutil.which("node")
    if node is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return node if int(version.lstrip("v").partition(".")[0] or 0) >= 22 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
