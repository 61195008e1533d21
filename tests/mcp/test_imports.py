"""What is imported where: the SDK in the process that speaks to a server, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT

CODE = """
import sys
from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap import NullDispatcher
from hermes_jobs.settings import load

environ = {"HERMES_JOBS_HOME": sys.argv[1]}
application = Application(load(environ), environ)
application.engine("worker", NullDispatcher())
application.toolbox.specs(None)
application.close()
print(sorted({"mcp", "mcp_types", "pydantic", "jsonschema", "starlette"}.intersection(sys.modules)))
"""


def test_a_worker_imports_no_sdk(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("mcp_servers: {a: {command: no-such-program}}\n")
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
