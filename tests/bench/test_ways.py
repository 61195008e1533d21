"""The whole measurement of learning, for the person with the fewest texts and a scripted model."""

from __future__ import annotations

import pytest

from tests.benchmarks.learning import Scripted, play
from tests.benchmarks.remembering.learning import rows_of
from tests.benchmarks.remembering.people import people


@pytest.mark.slow
def test_all_ways_of_remembering_are_measured() -> None:
    [wei] = [each for each in people() if each.name == "wei"]

    ways = {row.way: row for row in rows_of(play([wei], Scripted([wei])))}

    assert (ways["no memory"].kept, ways["no memory"].given, ways["no memory"].requests) == (0, 0, 4)
    memory, observed = ways["memory"], ways["observations"]
    assert (memory.kept, memory.missed, memory.stale, memory.given) == (4, 0, 0, 1)
    assert (observed.kept, observed.missed, observed.leaked) == (4, 0, 0)
    assert 0 < observed.tokens < memory.tokens
    assert ways["plain notes"].stale == 0
