"""The report on a terminal, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.schedules import events as e
from hermes_jobs.interfaces.html.charts import HEIGHT, MAX_SERIES, OTHERS, nice, stacked, ticks
from hermes_jobs.kernel.log.log import Append, EventMeta, StreamWrite
from hermes_jobs.text import figures
from tests.html.months import BEGAN, SCHEDULES, Months
from tests.html.test_turn_page import Elements
from tests.written_home import WrittenHome

SINCE = "2020-01-01"  # long enough ago for months, whatever the clock of the machine says


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WrittenHome]:
    home = WrittenHome(tmp_path_factory.mktemp("report"))
    Months(60).write(home.log)
    evil = e.Plan(name="<script>alert(1)</script>", text="x", kind="cron", timing="* * * * *", timezone="UTC")
    added = e.ScheduleAdded(schedule="evil", plan=evil, by="user", next_due=None)
    fired = e.ScheduleFired(
        schedule="evil", due=BEGAN.timestamp(), turn="x", session="x", next_due=None, by="user"
    )
    home.log.append(
        Append(
            meta=EventMeta(worker="w"),
            recorded_at=f"{BEGAN + timedelta(days=3):%Y-%m-%dT%H:%M:%S.%fZ}",
            writes=(StreamWrite(stream="schedule-evil", events=(added, fired), expected=None),),
        )
    )
    yield home
    home.close()


def test_people_get_tables_that_fit_and_nothing_else_on_standard_output(home: WrittenHome) -> None:
    shown = home.run("report", "--since", SINCE, TZ="UTC")
    assert shown.code == 0
    assert "Not in the cost: 56 calls of qwen3-coder without a price" in shown.err
    heads = [line.split()[0] for line in shown.out.splitlines() if line and line.split()[0].isupper()]
    assert heads == ["MONTH", "MODEL", "PURPOSE", "QUEUE", "MEMORY", "SCHEDULE"]
    assert all(name in shown.out for name in SCHEDULES)
    assert "\x1b" not in shown.out


def test_thirty_days_are_shown_also_where_clocks_were_put_forward_among_them(home: WrittenHome) -> None:
    around = [datetime.now(UTC) + timedelta(days=days) for days in (-10, 10)]
    first, last = (date(2001, at.month, min(at.day, 28)).timetuple().tm_yday for at in around)
    found = home.run("report", "--json", TZ=f"WINTER0SUMMER,J{first},J{last}").json
    assert date.fromisoformat(found["until"]) - date.fromisoformat(found["since"]) == timedelta(days=29)
    assert len(found["periods"]) == 30


def test_scripts_get_one_value(home: WrittenHome) -> None:
    found = home.run("report", "--since", SINCE, "--json").json
    assert list(found) == [
        *("since", "until", "period", "periods", "turns", "spending", "waiting", "waited", "memory"),
        "schedules",
    ]
    assert found["since"] == SINCE
    assert {"period", "queue", "steps", "p50", "p95", "longest"} == set(found["waited"][0])


def test_the_page_has_every_chart_and_nothing_that_acts(home: WrittenHome) -> None:
    file = home.path / "report.html"
    made = home.run("report", "--since", SINCE, "--html", str(file))
    assert (made.code, made.out, made.err) == (0, "", f"Wrote {file}.\n")
    page = file.read_text()
    headings = ("Cost by model", "Tokens by purpose", "Waiting in the queues", "The memory&#39;s fill")
    assert all(heading in page or heading.replace("&#39;", "'") in page for heading in headings)
    assert all(name in page for name in SCHEDULES)
    assert "&lt;script&gt;alert(1)" in page
    elements = Elements(page).found
    assert not {"script", "img", "iframe"} & {tag for tag, _ in elements}
    numbers = [
        float(value.rstrip("%"))
        for tag, attributes in elements
        if tag == "rect"
        for name, value in attributes.items()
        if name in {"x", "width", "height"} and value
    ]
    assert numbers
    assert all(0 <= number <= max(100.0, HEIGHT) for number in numbers)


def test_an_empty_home_has_a_report_too(home: WrittenHome, tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = WrittenHome(tmp_path_factory.mktemp("empty"))
    shown = empty.run("report")
    assert (shown.code, shown.out) == (0, "")
    assert "No model was called" in shown.err
    file = empty.path / "r.html"
    assert empty.run("report", "--html", str(file)).code == 0
    assert "Nothing was spent" in file.read_text()
    empty.close()


def test_a_day_to_come_and_two_forms_at_once_are_usage_errors(home: WrittenHome) -> None:
    ahead = home.run("report", "--since", "2999-01-01")
    assert (ahead.code, ahead.out) == (2, "")
    assert "has not come yet" in ahead.err
    assert home.run("report", "--html", "x.html", "--json").code == 2


VALUES = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["p1", "p2", "p3"]), st.floats(0, 1e6)),
    max_size=12,
)


@given(values=VALUES)
def test_stacked_bars_stay_within_the_chart_and_keep_their_proportions(values: dict) -> None:
    chart = stacked(["p1", "p2", "p3"], values, figures.amount)
    assert len(chart.series) <= MAX_SERIES
    sums = {period: sum(by.get(period, 0) for by in values.values()) for period in ("p1", "p2", "p3")}
    top = nice(max(sums.values()))
    for at, total in enumerate(sums.values()):
        own = [block for block in chart.blocks if at * 100 / 3 <= block.x < (at + 1) * 100 / 3]
        assert sum(block.height for block in own) == pytest.approx(HEIGHT * total / top, abs=0.1)
        assert all(block.y >= -0.1 for block in own)
        assert all(block.x + block.width <= 100 for block in own)
    assert OTHERS not in chart.series or len(chart.series) == MAX_SERIES


@given(value=st.floats(1e-6, 1e12))
def test_an_axis_ends_at_a_round_number_not_far_above(value: float) -> None:
    assert value * 0.999 <= nice(value) <= value * 2.51


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, 1), (2, 2), (8, 2), (9, 5), (60, 5)])
def test_few_periods_are_named_below_an_axis(count: int, shown: int) -> None:
    named = [f"{number:03}" for number in range(count)]
    found = ticks(named)
    assert len(found) == shown
    assert not found or (found[0].text, found[-1].text) == (named[0], named[-1])


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9999, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (200, "3 min 20 s"),
        (7_500, "2 h 5 min"),
        (100_000, "1 d 3 h"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float, shown: str) -> None:
    assert figures.duration(seconds) == shown


def test_small_amounts_of_money_keep_their_digits() -> None:
    told = [figures.money(each) for each in (None, 0, 0.00123, 0.5, 1234.5)]
    assert told == ["unknown", "$0.00", "$0.0012", "$0.50", "$1,234.50"]
