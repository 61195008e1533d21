"""What each form of summary keeps, with a summariser whose losses are known."""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.benchmarks.remembering.people import holds
from tests.benchmarks.remembering.retention import FORMS, RetentionRow, retained, work
from tests.benchmarks.summarisers import Copyist


def table(every: int, seed: int = 0) -> dict[tuple[str, int], RetentionRow]:
    long = work()
    rows = retained(lambda: Copyist(long, every, seed), long.parts)
    return {(each.form, each.compressions): each for each in rows}


def test_a_summariser_that_forgets_nothing_loses_nothing_but_by_a_plain_cut() -> None:
    rows = table(0)
    assert {form for form, _ in rows} == set(FORMS)
    for (form, _), row in rows.items():
        assert row.oldest == (0 if form == "plain cut" else 1)
        assert form == "plain cut" or row.all_facts == 1
        assert row.found == 1


@pytest.mark.slow
def test_lines_that_are_not_rewritten_survive_lossy_rewriting() -> None:
    runs = [table(5, seed) for seed in range(5)]

    def mean(form: str, after: int, column: str) -> float:
        return fmean(getattr(rows[form, after], column) for rows in runs)

    assert mean("layers", 5, "oldest") == mean("layers", 3, "oldest") > mean("one summary", 5, "oldest")
    assert mean("layers", 5, "all_facts") > mean("one summary", 5, "all_facts")
    assert mean("layers", 5, "outcomes") == 1 > mean("one summary", 5, "outcomes")


def test_each_fact_is_in_exactly_one_line() -> None:
    parts = work().parts
    told = [fact.says for part in parts for fact in part.facts]
    calls = [f"{call.name} {call.target}" for part in parts for call in part.calls]
    for fact in (fact for part in parts for fact in part.facts):
        assert [line for line in (*told, *calls) if holds(line, fact.words)] == [fact.says]
