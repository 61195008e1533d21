"""What was used, added up; and what may have been used, beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_jobs.features.usage.tables.estimates import select_estimates
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.budgets import Budgets
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.llm.scripted_model import ScriptedModel
from tests.engine.spenders import COST, SAID, SENT, spending_engine, two_calls, work

SOURCES = ("cli", "schedule:morning", "schedule:morning", "schedule:evening")


@pytest.fixture
def views(log: SqlEventLog, tmp_path: Path) -> Iterator[Views]:
    views = Views(log, tmp_path / "views")
    yield views
    views.close()


def run(engine: Engine, *sources: str) -> None:
    for number, source in enumerate(sources):
        engine.submit(TurnSubmitted(turn=f"t{number}", session=f"s{number}", text="hello", source=source))
    work(engine)


def test_runs_of_a_schedule_are_added_up_for_the_schedule(log: SqlEventLog, views: Views) -> None:
    run(spending_engine(log, "w1", Budgets(), ScriptedModel(two_calls)), *SOURCES)
    morning, evening = views.read(select_spending, by="schedule")
    assert (morning.key, morning.requests, morning.usage.input_tokens) == ("morning", 4, 4 * SENT)
    assert (evening.key, evening.requests, evening.usage.output_tokens) == ("evening", 2, 2 * SAID)
    assert morning.cost_usd == pytest.approx(4 * COST)


def test_unreported_usage_is_listed_beside_the_reported(log: SqlEventLog, views: Views) -> None:
    model = ScriptedModel([ModelError("timeout", "No answer in time.")])
    run(spending_engine(log, "w1", Budgets(), model), "cli")
    (row,) = views.read(select_spending, by="model")
    assert (row.key, row.requests, row.usage.total_tokens, row.cost_usd) == ("m", 1, 0, 0.0)
    assert (row.estimated.requests, row.estimated.input_tokens) == (1, SENT)
    assert row.estimated.cost_usd == pytest.approx(SENT * 1e-6)
    (estimate,) = views.read(select_estimates, turn="t0")
    assert (estimate.step, estimate.attempt, estimate.worker) == ("t0-1", 1, "w1")
    assert estimate.reason == "it took too long"
    assert views.read(select_estimates, turn="t1") == views.read(select_estimates, since="2999") == ()


@pytest.mark.parametrize(("zone", "day"), [("UTC", "2026-11-22"), ("Pacific/Kiritimati", "2026-11-23")])
def test_days_begin_where_the_zone_says(log: SqlEventLog, views: Views, zone: str, day: str) -> None:
    run(spending_engine(log, "w1", Budgets(), ScriptedModel(two_calls)), "cli")
    assert [row.key for row in views.read(select_spending, by="day", zone=ZoneInfo(zone))] == [day]
