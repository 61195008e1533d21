"""SearXNG's search API: https://docs.searxng.org/dev/search_api.html."""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_jobs.features.web.search.query import (
    Hit,
    HttpRequest,
    SearchQuery,
    SearchRefusal,
    SearchResults,
    kind_of,
    one_line,
)
from hermes_jobs.system.struct_types import described

NO_JSON = "its settings.yml does not offer JSON; add `json` to `search.formats`"


class _Result(msgspec.Struct, rename="camel"):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


class _Answer(msgspec.Struct):
    results: list[_Result]
    unresponsive_engines: list[list[Any]] = []


class SearXNG:
    """A self-hosted instance. It has no parameter for the number of results, and returns a page of them."""

    def request(self, query: SearchQuery) -> HttpRequest:
        """See `SearchApi.request`."""
        params = {"q": query.with_operator, "format": "json"}
        if query.newer_than:
            params["time_range"] = query.newer_than
        return HttpRequest(path="/search", params=params, headers={"accept": "application/json"})

    def parse_results(self, body: bytes) -> SearchResults:
        """See `SearchApi.found`."""
        answer = msgspec.json.decode(body, type=described(_Answer))
        hits = [
            Hit(result.title or "", result.url, result.content or "", (result.published_date or "")[:10])
            for result in answer.results
            if result.url
        ]
        failed = [": ".join(map(str, engine[:2])) for engine in answer.unresponsive_engines]
        note = one_line(f"engines that did not answer: {', '.join(failed)}", 300) if failed else ""
        return SearchResults(tuple(hits), note)

    def refusal(self, status: int, body: bytes) -> SearchRefusal:
        """See `SearchApi.refusal`: 403 means that the format is disabled."""
        if status == 403:
            return SearchRefusal("unavailable", NO_JSON)
        if status == 401:
            return SearchRefusal("auth", "the instance wants a user name and a password in its address")
        return SearchRefusal(kind_of(status))
