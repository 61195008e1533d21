"""What a browser makes of the pages: everything in its place, in every light and width, and no request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from hermes_jobs.features.memory.rules.memory import Limits
from hermes_jobs.features.usage.pages import report_page
from hermes_jobs.features.usage.tables.report import select_report
from hermes_jobs.interfaces.html.turn_page import turn_page
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.timeline import timeline
from hermes_jobs.kernel.views.turn_events import events_of
from hermes_jobs.kernel.views.views import Views
from tests.html.months import BEGAN, Months
from tests.html.samples import PARENT, TURN, append, append_tree, busy_turn
from tests.views.histories import new_log
from tests.views.test_reporting import UNTIL

pytestmark = pytest.mark.slow

LOOKS = (("light", 380), ("light", 760), ("light", 1400), ("dark", 1400))
LONG = "an_identifier_that_no_line_can_be_broken_in_" * 8

# Boxes of texts in drawings: those of one drawing must not touch, nor reach out of what is around them.
TEXTS = """
return [...document.querySelectorAll('main svg')].map(svg => [...svg.querySelectorAll(':scope > text')]
    .filter(text => getComputedStyle(text).display !== 'none')
    .map(text => { const b = text.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] }))
"""
# What of the rows' texts is drawn over each other.
ROWS = """
return [...document.querySelectorAll('.row > summary, .queue, .fact > summary, .figures > div')]
    .map(row => [...row.children].filter(e => e.offsetParent !== null || e.tagName === 'svg')
    .map(e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] }))
"""
# Elements that are wider than the page, but for those that scroll by themselves.
BEYOND = """
const wide = document.documentElement.clientWidth + 0.5;
return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && !e.closest('svg')
    && !e.closest('.prose table') && e.getBoundingClientRect().right > wide).map(e => e.outerHTML)
"""
# Tables of which a part is behind an edge.
HIDDEN = "return [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length"
# Luminances of a text and of what is behind it, for the contrast between them.
COLOURS = """
const rgb = c => c.match(/[\\d.]+/g).map(Number);
const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
return [...document.querySelectorAll('h1, h2, p, dt, dd, td, th, pre, small, .name, .took, .pill')]
    .filter(e => e.offsetParent !== null && e.innerText.trim())
    .map(e => [rgb(getComputedStyle(e).color).slice(0, 3), behind(e), e.className + ' ' + e.tagName])
"""


def _tree_page(views: Views, events: Sequence[RecordedEvent]) -> str:
    return turn_page(views.turn(PARENT), timeline(PARENT, events), events, str, tree=views.tree(PARENT))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """A page of a turn in which nearly everything happens, and one of some months, empty ones too."""
    folder = tmp_path_factory.mktemp("pages")
    log = new_log(folder)
    append(log, busy_turn(text=f"{LONG} {busy_turn()[0][2].text}"))  # type: ignore[attr-defined]
    append_tree(log, LONG)
    Months(80).write(log)
    views = Views(log, folder / "views")
    turn = views.turn(TURN)
    events = events_of(log, turn)
    day = views.read(select_report, since=BEGAN, until=UNTIL, period="day", zone=None)
    week = views.read(select_report, since=BEGAN, until=UNTIL, period="week", zone=None)
    made = {
        "turn": turn_page(turn, timeline(TURN, events), events, str),
        "tree": _tree_page(views, events_of(log, views.turn(PARENT))),
        "report": report_page(day, Limits(), str),
        "weeks": report_page(week, Limits(), str),
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_text(page)
    views.close()
    log.close()
    return [folder / f"{name}.html" for name in made]


def test_pages_are_whole_in_any_light_and_width(pages: Sequence[Path], browser: Chrome) -> None:
    for page in pages:
        for scheme, width in LOOKS:
            look(browser, page, scheme, width)
            where = (page.name, scheme, width)
            overflow = browser.execute_script(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow == 0, where
            assert browser.execute_script(BEYOND) == [], where
            assert browser.execute_script(HIDDEN) == 0, where
            for boxes in (*browser.execute_script(TEXTS), *browser.execute_script(ROWS)):
                assert not touching(boxes), (where, touching(boxes))
            for colour, behind, what in browser.execute_script(COLOURS):
                assert contrast(colour, behind) >= 4.5 - 0.6 * ("pill" in what), (where, what, colour, behind)


def test_pages_make_no_requests_and_log_no_errors(pages: Sequence[Path], browser: Chrome) -> None:
    for page in pages:
        look(browser, page, "light", 1400)
        assert browser.get_log("browser") == []
        messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = {
            each["params"]["request"]["url"]
            for each in messages
            if each["method"] == "Network.requestWillBeSent"
            and each["params"]["documentURL"] == page.as_uri()
        }
        assert {url for url in asked if not url.startswith("data:")} == {page.as_uri()}


def test_a_long_result_is_opened_without_a_script(pages: Sequence[Path], browser: Chrome) -> None:
    look(browser, pages[0], "light", 1400)
    browser.execute_script("document.querySelectorAll('.row').forEach(row => row.open = true)")
    heights = "return [...document.querySelectorAll('.row .more')].map(e => e.getBoundingClientRect().height)"
    (closed,) = browser.execute_script(heights)
    browser.execute_script("document.querySelector('.row .more > summary').click()")
    (opened,) = browser.execute_script(heights)
    assert opened > 1.5 * closed
    assert browser.execute_script(BEYOND) == []


def look(browser: Chrome, page: Path, scheme: str, width: int) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())


def touching(boxes: Sequence[Sequence[float]]) -> list[tuple[Sequence[float], Sequence[float]]]:
    """Pairs of boxes (left, top, right, bottom) that share more than a hair."""
    return [
        (one, other)
        for at, one in enumerate(boxes)
        for other in boxes[at + 1 :]
        if min(one[2], other[2]) - max(one[0], other[0]) > 1
        and min(one[3], other[3]) - max(one[1], other[1]) > 1
    ]


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """As WCAG has it: 4.5 and more is read without effort."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Sequence[float]) -> float:
    parts = [each / 255 for each in colour]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
