"""One page of ratios, in some minutes: `make bench`, or `python -m tests.benchmarks page [--json]`.

Each line stands beside a named baseline of the same run: the bare model call, a chain of empty Celery tasks,
raw SQLite, an interpreter that imports the model's client; hermes-agent and DBOS where HERMES_AGENT_PYTHON
and DBOS_PYTHON name interpreters that have them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks import appends, command_line, hermes_agent, many_turns, turns
from tests.benchmarks.lines import Line, show
from tests.benchmarks.turns import model_server

DBOS_ROUNDS = 40
TURN_STEPS, DBOS_STEPS = 3, 5


def main(form: str = "") -> None:
    """Print the page; with `--json` a line of JSON for each of its lines."""
    if form == "--json":
        for line in lines():
            print(json.dumps(line._asdict()), flush=True)
    else:
        show(lines())


def lines() -> Iterator[Line]:
    """All of them, in the order of the page."""
    with tempfile.TemporaryDirectory() as name, model_server(Path(name)) as base_url:
        folder = Path(name)
        for line in turns.lines(folder, base_url):
            yield line
            if line.name == turns.INLINE:
                yield from _beside_dbos(folder, line)
        yield from many_turns.lines(folder, base_url)
        yield from appends.lines(folder)
        yield from command_line.lines(folder / "commands", base_url)
    yield from hermes_agent.lines()


def _beside_dbos(folder: Path, turn: Line) -> Iterator[Line]:
    """A durable step of ours beside one of theirs, each in one process and in a file of SQLite."""
    if (interpreter := os.environ.get("DBOS_PYTHON")) is None:
        return
    script = str(Path(__file__).with_name("dbos_steps.py"))
    ran = subprocess.run(
        [interpreter, script, str(folder), str(DBOS_ROUNDS)], capture_output=True, text=True, check=True
    )
    times: list[float] = json.loads(ran.stdout.splitlines()[-1])
    theirs = median(times[1:]) * 1000 / DBOS_STEPS
    ours = (turn.ms - turn.base_ms) / TURN_STEPS
    yield Line("a durable step, in one process", ours, "a step of DBOS", theirs)


if __name__ == "__main__":
    main(*sys.argv[1:])
