"""A durable workflow of DBOS within its own process: run by an interpreter that has `dbos`, not by ours.

`python dbos_steps.py FOLDER ROUNDS` prints a JSON list: the seconds of each workflow of five empty steps, in
a SQLite file. The first one warms up.
"""

from __future__ import annotations

import json
import sys
import time

STEPS = 5


def measure(folder: str, rounds: str) -> None:
    """Take the times, and print them."""
    from dbos import DBOS  # type: ignore[import-not-found]

    @DBOS.step()
    def step(number: int) -> int:
        return number

    @DBOS.workflow()
    def workflow() -> int:
        return sum(step(number) for number in range(STEPS))

    database = f"sqlite:///{folder}/dbos.sqlite"
    DBOS(config={"name": "five-steps", "system_database_url": database, "log_level": "ERROR"})
    DBOS.launch()
    times = []
    for _ in range(int(rounds) + 1):
        begun = time.perf_counter()
        workflow()
        times.append(time.perf_counter() - begun)
    print(json.dumps(times))
    DBOS.destroy()


if __name__ == "__main__":
    measure(*sys.argv[1:])
