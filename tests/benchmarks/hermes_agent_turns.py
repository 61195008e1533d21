"""Turns of hermes-agent within its own process: run by that agent's interpreter, not by this project's.

`python hermes_agent_turns.py BASE_URL ROUNDS TEXT …` prints a JSON object: `build` (seconds of making an
agent) and for each text the seconds of as many turns as there are rounds, the first of which warms up.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any


def measure(base_url: str, rounds: str, *texts: str) -> None:
    """Take the times, and print them."""
    from run_agent import AIAgent  # type: ignore[import-not-found]

    def agent() -> Any:
        toolsets = ["terminal", "file"]
        return AIAgent(
            base_url=base_url, api_key="none", model="m", quiet_mode=True, enabled_toolsets=toolsets
        )

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        times = {"build": _times(int(rounds), agent)}
        talking = agent()
        for text in texts:
            times[text] = _times(int(rounds), partial(talking.run_conversation, text))
    print(json.dumps(times))


def _times(rounds: int, act: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return times


if __name__ == "__main__":
    measure(*sys.argv[1:])
