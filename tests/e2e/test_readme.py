"""The README's commands, run as they are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.home import Home
from tests.processes import ROOT

# They make the environment, begin what does not end or needs a terminal (and have tests of their own),
# or name what is not here.
NOT_RUN = re.compile(r"make |export |hermes-jobs (up|worker|flower|beat|gateway|chat)\b|pip install")


def commands(file: Path) -> list[str]:
    """What stands behind a `$` in the file's console blocks, without its comment."""
    blocks = re.findall(r"^```console\n(.*?)^```", file.read_text(), re.MULTILINE | re.DOTALL)
    return [
        line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")
    ]


def test_every_command_of_the_readme_works(home: Home) -> None:
    written = [line for line in commands(ROOT / "README.md") if not NOT_RUN.match(line)]
    assert written
    home.send("Hello")  # as `make run` does
    for line in written:
        program, *arguments = shlex.split(line, comments=True)
        assert Path(program).name == "hermes-jobs", line
        ran = home.run(*arguments)
        assert ran.code == 0, (line, ran)
        assert ran.out or ran.err, line
