"""Exa's search API: https://exa.ai/docs/reference/search, and /docs/reference/error-codes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from hermes_jobs.features.web.search.query import (
    AGE_DAYS,
    Hit,
    HttpRequest,
    SearchQuery,
    SearchRefusal,
    SearchResults,
    decoded_or,
    kind_of,
)
from hermes_jobs.system.struct_types import described

_WRONG_KEY = frozenset({"INVALID_API_KEY", "API_KEY_EXPIRED"})


class _Result(msgspec.Struct, rename="camel"):
    url: str
    title: str | None = None
    published_date: str | None = None
    highlights: list[str] | None = None
    text: str | None = None


class _Answer(msgspec.Struct):
    results: list[_Result]


class _RefusalBody(msgspec.Struct):
    error: str = ""
    tag: str = ""


class Exa:
    """Exa with one key; the passages that fit the query are the snippet."""

    def __init__(self, key: str) -> None:
        self._key = key

    def request(self, query: SearchQuery) -> HttpRequest:
        """See `SearchApi.request`."""
        body: dict[str, Any] = {
            "query": query.text,
            "type": "auto",
            "numResults": query.limit,
            "contents": {"highlights": True},
        }
        if query.newer_than:
            begin = query.today - timedelta(days=AGE_DAYS[query.newer_than])
            body["startPublishedDate"] = f"{begin.isoformat()}T00:00:00.000Z"
        if query.site:
            body["includeDomains"] = [query.site]
        return HttpRequest(path="/search", headers={"x-api-key": self._key}, body=body)

    def parse_results(self, body: bytes) -> SearchResults:
        """See `SearchApi.found`."""
        answer = msgspec.json.decode(body, type=described(_Answer))
        return SearchResults(tuple(map(_hit, answer.results)))

    def refusal(self, status: int, body: bytes) -> SearchRefusal:
        """See `SearchApi.refusal`."""
        error = decoded_or(body, _RefusalBody, _RefusalBody())
        return SearchRefusal("auth" if error.tag in _WRONG_KEY else kind_of(status), error.error or error.tag)


def _hit(result: _Result) -> Hit:
    snippet = " … ".join(result.highlights or ()) or result.text or ""
    return Hit(result.title or "", result.url, snippet, (result.published_date or "")[:10])
