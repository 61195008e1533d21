"""DuckDuckGo: the real library reads a page of its results from a server on loopback."""

from __future__ import annotations

from datetime import date

import pytest

from hermes_jobs.features.web.search import duckduckgo
from hermes_jobs.features.web.search.duckduckgo import DuckDuckGo, DuckDuckGoQuery
from hermes_jobs.features.web.search.duckduckgo_process import search_response
from hermes_jobs.features.web.search.query import SearchFailed, SearchQuery

from .search_apis import Asked as Arrived
from .search_apis import Says, SearchServer, searching
from .support import Switch

RESULT = """<div class="result results_links results_links_deep web-result">
<div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://example.org/{n}">Page {n}</a></h2>
<a class="result__snippet" href="https://example.org/{n}">What <b>page</b> {n} says about tea.</a>
</div></div>"""


class Pages:
    """POST `/html/`, a form; answers a page of results."""

    prefix = "/html/"

    def __init__(self, body: str) -> None:
        self.body = body

    def answer(self, asked: Arrived) -> Says:
        assert (asked.method, asked.path) == ("POST", "/html/")
        form = asked.body
        assert (form["q"], form["l"], form["df"]) == ("tea site:example.org", "wt-wt", "w")
        return Says(self.body)


def page(results: int) -> str:
    return f"<html><body>{''.join(RESULT.format(n=n) for n in range(1, results + 1))}</body></html>"


@pytest.fixture
def engine(monkeypatch):
    """The library's own reader of DuckDuckGo, pointed at a server."""
    pytest.importorskip("ddgs", reason="the extra duckduckgo is not installed")
    from ddgs.engines.duckduckgo import Duckduckgo

    def point_at(server: SearchServer) -> None:
        monkeypatch.setattr(Duckduckgo, "search_url", server.base_url)

    return point_at


ASKED = DuckDuckGoQuery(text="tea site:example.org", limit=2, newer_than="week", seconds=20)


def test_its_pages_are_read(engine):
    with searching(Pages(page(5))) as server:
        engine(server)
        found = search_response(ASKED)
    assert found.kind is None
    assert [each.url for each in found.hits] == ["https://example.org/1", "https://example.org/2"]
    assert found.hits[0].title == "Page 1"
    assert found.hits[0].snippet == "What page 1 says about tea."


def test_a_page_without_results_may_mean_either(engine):
    with searching(Pages("<html><body><form>Select all squares with a duck</form></body></html>")) as server:
        engine(server)
        found = search_response(ASKED)
    assert found.kind == "rate"
    assert "turns this address away" in found.message


def test_an_unreachable_service_is_reported(engine):
    with searching(Pages("")) as server:
        engine(server)
    found = search_response(ASKED)
    assert found.kind == "unreachable"
    assert "DuckDuckGo cannot be reached" in found.message


def test_without_the_library_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(duckduckgo, "find_spec", lambda _name: None)
    with pytest.raises(SearchFailed) as failed:
        DuckDuckGo({}).search(SearchQuery(text="tea", today=date(2026, 11, 23)), Switch())
    assert failed.value.hint == "pip install 'hermes-jobs[duckduckgo]'"


def test_the_process_ends_with_the_call(engine):
    cancel = Switch()
    cancel.fire()
    from hermes_jobs.kernel.engine.ports import StepInterrupted

    with pytest.raises(StepInterrupted):
        DuckDuckGo({}).search(SearchQuery(text="tea", today=date(2026, 11, 23)), cancel)
