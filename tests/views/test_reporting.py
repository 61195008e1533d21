"""What a report says is what the log says, added up by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import chars, history
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.usage.tables.report import Report, periods, select_report
from hermes_jobs.features.usage.tables.totals import runs_by_schedule, total_of, totals_by
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.views import store
from hermes_jobs.kernel.views.views import Views
from tests.examples import examples
from tests.html.months import BEGAN, DAYS, Months
from tests.views.histories import new_log
from tests.views.test_rows_follow_the_log import rows_of

UNTIL = BEGAN + timedelta(days=DAYS)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqlEventLog, Views]]:
    folder = tmp_path_factory.mktemp("months")
    log = new_log(folder)
    Months(150).write(log)
    views = Views(log, folder / "views")
    yield log, views
    views.close()
    log.close()


def report(views: Views, **asked: Any) -> Report:
    return views.read(select_report, **{"since": BEGAN, "until": UNTIL, "zone": UTC, **asked})


def facts(log: SqlEventLog, kind: type[e.Event]) -> Sequence[tuple[datetime, e.Event]]:
    return [
        (datetime.fromisoformat(each.recorded_at), each.event)
        for each in log.tail(0, 100_000)
        if isinstance(each.event, kind)
    ]


def test_spending_adds_up_to_every_response(months: tuple[SqlEventLog, Views]) -> None:
    log, views = months
    replies = [event for _, event in facts(log, e.ModelReplied) if isinstance(event, e.ModelReplied)]
    found = report(views).spending
    total = total_of(found)
    assert total.requests == len(replies)
    assert total.usage == sum((event.usage for event in replies), Usage())
    assert total.unpriced == sum(event.cost_usd is None for event in replies)
    assert total.cost_usd == pytest.approx(sum(event.cost_usd or 0 for event in replies))
    for key in ("period", "model", "purpose"):
        rows = totals_by(found, key)
        assert sum(row.requests for row in rows) == len(replies)
    unknown = {row.key: row.exact_cost_usd for row in totals_by(found, "model")}
    assert unknown["qwen3-coder"] is None, "an unknown price is not a price of zero"


def test_waiting_is_ranked_by_queue_and_period(months: tuple[SqlEventLog, Views]) -> None:
    log, views = months
    found = report(views)
    fired = [
        recorded.timestamp() - event.due
        for recorded, event in facts(log, schedules_events.ScheduleFired)
        if isinstance(event, schedules_events.ScheduleFired)
    ]
    (schedules,) = [each for each in found.waited if each.queue == "schedules"]
    ranked = sorted(fired)
    assert schedules.steps == len(fired)
    assert schedules.p50 == pytest.approx(ranked[-(-len(ranked) // 2) - 1], abs=1e-5)
    assert schedules.longest == pytest.approx(ranked[-1], abs=1e-5)
    assert {each.queue for each in found.waited} == {"turns", "tools", "reviews", "schedules"}
    for each in found.waited:
        assert 0 <= each.p50 <= each.p95 <= each.longest
        own = [other for other in found.waiting if other.queue == each.queue]
        assert sum(other.steps for other in own) == each.steps
        assert max(other.longest for other in own) == each.longest


def test_every_due_time_is_on_time_late_or_missed(months: tuple[SqlEventLog, Views]) -> None:
    log, views = months
    found = runs_by_schedule(report(views).schedules)
    assert [each.name for each in found] == sorted(each.name for each in found)
    assert all(each.on_time + each.late + each.missed == DAYS for each in found)
    ended = [
        event
        for _, event in facts(log, schedules_events.ScheduleRunEnded)
        if isinstance(event, schedules_events.ScheduleRunEnded)
    ]
    assert sum(each.failed for each in found) == sum(event.status == "failed" for event in ended)
    assert all((each.latest > 30) == bool(each.late) for each in found)


def test_a_report_counts_what_is_newer_than_since_and_the_whole_memory(
    months: tuple[SqlEventLog, Views],
) -> None:
    _, views = months
    whole, late = report(views), report(views, since=UNTIL - timedelta(days=1))
    assert total_of(late.spending).requests < total_of(whole.spending).requests
    assert {each.period for each in late.spending} <= set(late.periods)
    assert {each.target for each in late.memory} == {"memory", "user"}
    assert late.memory[-1].chars == whole.memory[-1].chars


@pytest.mark.parametrize(("zone", "period"), [("Asia/Kathmandu", "day"), ("America/New_York", "week")])
def test_periods_begin_where_the_zone_says(zone: str, period: str, months: tuple[SqlEventLog, Views]) -> None:
    log, views = months
    there = ZoneInfo(zone)
    found = report(views, zone=there, period=period, since=EPOCH + timedelta(days=20_000))
    days = {at.astimezone(there).date() for at, _ in facts(log, e.TurnSubmitted)}
    starts = {day - timedelta(days=day.weekday() if period == "week" else 0) for day in days}
    assert {each.period for each in found.turns} == {start.isoformat() for start in starts}
    assert {each.period for each in found.turns} <= set(found.periods)


@given(first=st.dates(date(2020, 1, 1), date(2030, 1, 1)), days=st.integers(0, 900))
def test_periods_follow_each_other_and_hold_every_day(first: date, days: int) -> None:
    last = first + timedelta(days=days)
    assert len(periods(first, last, "day")) == days + 1
    for period in ("week", "month"):
        found = periods(first, last, period)
        assert list(found) == sorted(set(found))
        assert found[0] <= first.isoformat()
        assert date.fromisoformat(found[-1]) <= last
    assert len(periods(first, last, "week")) in {days // 7 + 1, days // 7 + 2}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(15))
def test_the_memory_s_fill_is_that_of_its_fold(seed: int) -> None:
    random = Random(seed)
    written = list(_memory_facts(random))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "BATCH", random.randint(1, 5))
        log = new_log(Path(folder))
        for day, fact in enumerate(written):
            at = f"{BEGAN + timedelta(days=day):%Y-%m-%dT%H:%M:%S.%fZ}"
            write = StreamWrite(stream="memory", events=(fact,), expected=None)
            log.append(Append(meta=EventMeta(worker="w"), recorded_at=at, writes=(write,), durable=False))
        views = Views(log, Path(folder) / "views")
        found = report(views).memory
        incremental = rows_of(Path(folder) / "views")["fill"]
        views.rebuild()
        assert rows_of(Path(folder) / "views")["fill"] == incremental
        views.close()
        log.close()
    folded = history(written)[1:]
    for fact, memory, row in zip(written, folded, found, strict=True):
        entries = memory.entries(fact.target)
        assert (row.target, row.entries, row.chars) == (fact.target, len(entries), chars(entries))


def _memory_facts(random: Random) -> Iterator[memory_events.MemoryEvent]:
    held: dict[memory_events.MemoryTarget, list[str]] = {"memory": [], "user": []}
    for number in range(random.randint(1, 25)):
        target = random.choice(list(held))
        content = f"{number}{'x' * random.randint(0, 30)}"
        entries = held[target]
        if entries and random.random() < 0.4:
            old = random.choice(entries)
            at = entries.index(old)
            if random.random() < 0.5:
                del entries[at]
                yield memory_events.MemoryRemoved(target=target, old=old, author="user")
            else:
                entries[at] = content
                yield memory_events.MemoryReplaced(target=target, old=old, content=content, author="user")
        else:
            entries.append(content)
            yield memory_events.MemoryAdded(target=target, content=content, author="user")
