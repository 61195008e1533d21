"""The report on a terminal, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from hermes_jobs.features.schedules import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
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


def test_the_page_has_every_table_and_nothing_that_acts(home: WrittenHome) -> None:
    file = home.path / "report.html"
    made = home.run("report", "--since", SINCE, "--html", str(file))
    assert (made.code, made.out, made.err) == (0, "", f"Wrote {file}.\n")
    page = file.read_text()
    headings = ("Cost and tokens", "By model", "By purpose", "Waiting in the queues", "The memory&#39;s fill")
    assert all(heading in page or heading.replace("&#39;", "'") in page for heading in headings)
    assert all(name in page for name in SCHEDULES)
    assert "&lt;script&gt;alert(1)" in page
    assert not {"script", "img", "iframe"} & {tag for tag, _ in Elements(page).found}


def test_an_empty_home_has_a_report_too(home: WrittenHome, tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = WrittenHome(tmp_path_factory.mktemp("empty"))
    shown = empty.run("report")
    assert (shown.code, shown.out) == (0, "")
    assert "No model was called" in shown.err
    file = empty.path / "r.html"
    assert empty.run("report", "--html", str(file)).code == 0
    assert "No model was called" in file.read_text()
    empty.close()


def test_a_day_to_come_and_two_forms_at_once_are_usage_errors(home: WrittenHome) -> None:
    ahead = home.run("report", "--since", "2999-01-01")
    assert (ahead.code, ahead.out) == (2, "")
    assert "has not come yet" in ahead.err
    assert home.run("report", "--html", "x.html", "--json").code == 2


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
