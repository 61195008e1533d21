"""Tavily's search API: https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_jobs.features.web.search.query import (
    Hit,
    HttpRequest,
    SearchFailed,
    SearchQuery,
    SearchRefusal,
    SearchResults,
    decoded_or,
    kind_of,
)
from hermes_jobs.system.struct_types import described

MAX_CHARS = 400
_USED_UP = frozenset({432, 433})  # the limits of the plan and of pay-as-you-go


class _Result(msgspec.Struct):
    url: str
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


class _Answer(msgspec.Struct):
    results: list[_Result]


class _Detail(msgspec.Struct, frozen=True):
    error: str = ""


class _RefusalBody(msgspec.Struct):
    """`detail` is a text if the request itself is invalid."""

    detail: _Detail | str = ""


class Tavily:
    """Tavily with one key; the basic depth, which costs one credit a search."""

    def __init__(self, key: str) -> None:
        self._key = key

    def request(self, query: SearchQuery) -> HttpRequest:
        """See `SearchApi.request`."""
        if len(query.text) > MAX_CHARS:
            raise SearchFailed("query", f"Tavily takes at most {MAX_CHARS} characters. Ask in fewer words.")
        body: dict[str, Any] = {"query": query.text, "max_results": query.limit, "search_depth": "basic"}
        if query.newer_than:
            body["time_range"] = query.newer_than
        if query.site:
            body["include_domains"] = [query.site]
        return HttpRequest(path="/search", headers={"authorization": f"Bearer {self._key}"}, body=body)

    def parse_results(self, body: bytes) -> SearchResults:
        """See `SearchApi.found`."""
        answer = msgspec.json.decode(body, type=described(_Answer))
        return SearchResults(
            tuple(
                Hit(result.title or "", result.url, result.content or "", result.published_date or "")
                for result in answer.results
            )
        )

    def refusal(self, status: int, body: bytes) -> SearchRefusal:
        """See `SearchApi.refusal`."""
        detail = decoded_or(body, _RefusalBody, _RefusalBody()).detail
        message = detail if isinstance(detail, str) else detail.error
        return SearchRefusal("quota" if status in _USED_UP else kind_of(status), message)
