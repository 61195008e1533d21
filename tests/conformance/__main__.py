"""Play the suite: `python -m tests.conformance [SCENARIO ...]`; without names a choice, and the server.

The suite and the Node that it needs are installed by npm into `.conformance`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.bridge import serving
from tests.processes import ROOT

FOLDER = ROOT / ".conformance"
PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "node@22")  # it calls functions that Node 20 lacks
MODULES = FOLDER / "node_modules"
EXPECTED = str(ROOT / "tests/conformance/expected-failures.yml")
CLIENT = f"{sys.executable} -m tests.conformance.client"
MILLISECONDS = "180000"  # of a client's scenario, on a machine that does other things too


def main(scenarios: Sequence[str]) -> int:
    """The worst exit code of the suite's runs."""
    if shutil.which("npm") is None:
        sys.stderr.write("The suite needs npm.\n")
        return 1
    if not (MODULES / ".bin/node").exists():
        FOLDER.mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(FOLDER), *PACKAGES], check=True)
    return max((*(_client(scenario) for scenario in scenarios or CORE), 0 if scenarios else _server()))


CORE = ("initialize", "tools_call", "sse-retry", "auth/metadata-default")


def _client(scenario: str) -> int:
    words = ("--command", CLIENT, "--scenario", scenario, "--timeout", MILLISECONDS)
    return _suite("client", *words, environ=dict(os.environ))


def _server() -> int:
    """Our server, with a home of its own and no model."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environ = {**os.environ, "HERMES_JOBS_HOME": home, "HERMES_JOBS_MODEL": "rehearsal"}
        bridge = serving(environ)
        try:
            return _suite("server", "--url", bridge.url, environ=environ)
        finally:
            bridge.shutdown()
            bridge.server_close()


def _suite(*words: str, environ: dict[str, str]) -> int:
    program = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    path = f"{MODULES / '.bin'}{os.pathsep}{environ['PATH']}"
    with tempfile.TemporaryDirectory() as results:
        return subprocess.run(
            [str(MODULES / ".bin/node"), str(program), *words, "--expected-failures", EXPECTED],
            cwd=Path(results),
            env={**environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            check=False,
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
