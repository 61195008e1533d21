"""Seeds of chaos, judged by the event export alone: a few that are fixed, and hundreds with `FAULTS=full`.

What a seed does is fixed; when it hits is not, and must not matter. `python -m tests.faults.chaos 1 200` runs
seeds without pytest and keeps the homes of those that failed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.chaos import run_seed

FULL = os.environ.get("FAULTS") == "full"
EVERY = [(seed, kind) for seed in range(200) for kind in ("sqlite", "postgres")]
RUNS = EVERY if FULL else [(0, "sqlite"), (1, "postgres")]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("seed", "kind"),
    [pytest.param(*run, marks=pytest.mark.postgres if run[1] == "postgres" else ()) for run in RUNS],
)
def test_nothing_is_lost_doubled_or_left_over_whatever_befalls_an_installation(
    seed: int, kind: str, tmp_path: Path
) -> None:
    assert run_seed(seed, tmp_path, kind) == []
