"""Our turns beside those of hermes-agent: `HERMES_AGENT_PYTHON=… python -m tests.benchmarks hermes_agent`.

The baseline is hermes-agent 0.19 in one process, as its makers run it, against the same scripted server; ours
goes through a worker. It is not a dependency: install it in its own environment and name its interpreter,
`python -m venv other; other/bin/pip install hermes-agent==0.19.0; HERMES_AGENT_PYTHON=other/bin/python`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.lines import Line, show
from tests.benchmarks.turns import bare_calls, installation_of, model_server, turn_time, waiter, working

ROUNDS = 12
TURNS = {  # what is said: what it stands for, and its model calls
    "hello": ("text turn", 1),
    "five at once": ("5 tools in one message", 2),
    "five in a row": ("5 tools one after the other", 6),
}


def main() -> None:
    """Print the table, or how to get one."""
    if "HERMES_AGENT_PYTHON" not in os.environ:
        print("not measured: HERMES_AGENT_PYTHON names no interpreter that has hermes-agent")
    show(lines())


def lines() -> Iterator[Line]:
    """What turns cost beside their model calls, medians of `ROUNDS`; none without their interpreter."""
    interpreter = os.environ.get("HERMES_AGENT_PYTHON")
    if interpreter is None:
        return
    with tempfile.TemporaryDirectory() as folder, model_server(Path(folder)) as base_url:
        theirs = _theirs(interpreter, Path(folder) / "theirs", base_url)
        ours = _ours(Path(folder) / "ours", base_url)
    for text, (name, calls) in TURNS.items():
        mine, other = ours[text] - calls * ours["bare"], theirs[text] - calls * ours["bare"]
        yield Line(f"{name}, beside its model calls", mine, "the same of hermes-agent", other)


def _theirs(interpreter: str, home: Path, base_url: str) -> dict[str, float]:
    home.mkdir()
    command = [
        interpreter,
        str(Path(__file__).with_name("hermes_agent_turns.py")),
        base_url,
        str(ROUNDS),
        *TURNS,
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "HERMES_HOME": str(home)}
    ran = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=True)
    times: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return {what: median(seconds[1:]) * 1000 for what, seconds in times.items()}


def _ours(home: Path, base_url: str) -> dict[str, float]:
    application = installation_of(home, base_url)
    times = {"bare": list(bare_calls(application))}
    with working(home, base_url):
        engine = application.engine("bench")
        wait = waiter(engine)
        for text in TURNS:
            times[text] = [turn_time(engine, wait, text) for _ in range(ROUNDS)]
    application.close()
    return {what: median(seconds[1:]) * 1000 for what, seconds in times.items()}
