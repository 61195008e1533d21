"""Seeds of chaos, judged by the event export alone: a few that are fixed, and hundreds with `FAULTS=full`.

What a seed does is fixed; when it hits is not, and must not matter. `python -m tests.faults.chaos 1 200` runs
seeds without pytest and keeps the homes of those that failed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.chaos import run_seed

SEEDS = range(200) if os.environ.get("FAULTS") == "full" else range(2)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_doubled_or_left_over_whatever_befalls_an_installation(
    seed: int, kind: str, tmp_path: Path
) -> None:
    assert run_seed(seed, tmp_path, kind) == []
