"""Forked processes are like started ones, and the server that forks them ends with the test process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from tests.processes import ROOT, Process, fork, spawn

PROGRAMS = {
    "a code": "import sys; print('out'); sys.exit(3)",
    "a sentence": "import sys; sys.exit('It failed.')",
    "an error": "raise KeyError('x')",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "an interrupt": "raise KeyboardInterrupt",
    "its end": "import atexit; atexit.register(print, 'last'); print('first')",
    "a thread's end": "import threading; threading.Timer(0.05, print, ['late']).start()",
    "arguments": "import os, sys; print(sys.argv[1:], os.environ['WORD'], os.getcwd())",
}


def ran(begin: Callable[..., Process], folder: Path) -> tuple[int, bytes, bool]:
    """How the program ends, what it prints, and whether it prints an error."""
    with Path(os.devnull).open() as nothing, TemporaryFile() as out, TemporaryFile() as err:
        environ = {"PATH": os.defpath, "WORD": "word"}
        code = begin(["program", "a"], (nothing, out, err), environ=environ, folder=folder).wait(60)
        out.seek(0)
        err.seek(0)
        return code, out.read(), bool(err.read())


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_forked_program_ends_as_a_started_one(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program)

    assert ran(fork, tmp_path) == ran(spawn, tmp_path)


def test_the_server_ends_with_the_process_that_started_it() -> None:
    program = (
        "import os\n"
        "from pathlib import Path\n"
        "from tests.processes import ROOT, fork\n"
        "nothing = os.open(os.devnull, os.O_RDWR)\n"
        "fork(['this'], (nothing, 1, nothing), environ={}, folder=ROOT).wait()\n"
    )
    # `import this` prints in the forked process, whose output ends when every process that has it has ended.
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, timeout=180
    )
    assert b"Beautiful is better than ugly." in done.stdout
