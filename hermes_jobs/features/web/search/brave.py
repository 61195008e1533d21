"""Brave's web search API: https://api-dashboard.search.brave.com/api-reference/web/search/get."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import msgspec

from hermes_jobs.features.web.search.query import (
    Age,
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

MAX_WORDS = 50
MAX_CHARS = 400
_FRESHNESS: Mapping[Age, str] = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_MARKS = re.compile(r"</?(?:strong|b|em|i)>", re.IGNORECASE)
_WRONG_KEY = frozenset({"SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND", "SUBSCRIPTION_TOKEN_MISSING"})
_USED_UP = frozenset({"QUOTA_LIMITED", "USAGE_LIMIT_EXCEEDED"})


class _Result(msgspec.Struct):
    url: str
    title: str | None = None
    description: str | None = None
    page_age: str | None = None


class _Web(msgspec.Struct):
    results: list[_Result] = []


class _Answer(msgspec.Struct):
    """`web` is absent if nothing was found."""

    type: str
    web: _Web | None = None


class _Error(msgspec.Struct, frozen=True):
    code: str = ""
    detail: str = ""


class _RefusalBody(msgspec.Struct):
    error: _Error = _Error()


class Brave:
    """Brave Search with one key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def request(self, query: SearchQuery) -> HttpRequest:
        """See `SearchApi.request`."""
        text = query.with_operator
        if len(text.split()) > MAX_WORDS or len(text) > MAX_CHARS:
            limits = f"{MAX_WORDS} words and {MAX_CHARS} characters"
            raise SearchFailed("query", f"Brave Search takes at most {limits}. Ask in fewer words.")
        params = {
            "q": text,
            "count": str(query.limit),
            "result_filter": "web",
            "text_decorations": "false",
        }
        if query.newer_than:
            params["freshness"] = _FRESHNESS[query.newer_than]
        headers = {"accept": "application/json", "x-subscription-token": self._key}
        return HttpRequest(path="/web/search", params=params, headers=headers)

    def parse_results(self, body: bytes) -> SearchResults:
        """See `SearchApi.found`."""
        answer = msgspec.json.decode(body, type=described(_Answer))
        results = answer.web.results if answer.web is not None else []
        return SearchResults(
            tuple(
                Hit(
                    _plain(result.title), result.url, _plain(result.description), (result.page_age or "")[:10]
                )
                for result in results
            )
        )

    def refusal(self, status: int, body: bytes) -> SearchRefusal:
        """See `SearchApi.refusal`: a wrong key is a 422, an exhausted plan a 429."""
        error = decoded_or(body, _RefusalBody, _RefusalBody()).error
        kind = kind_of(status)
        if error.code in _WRONG_KEY:
            kind = "auth"
        elif error.code in _USED_UP:
            kind = "quota"
        return SearchRefusal(kind, error.detail or error.code)


def _plain(text: str | None) -> str:
    """Text of a result without markup and entities."""
    return html.unescape(_MARKS.sub("", text or ""))
