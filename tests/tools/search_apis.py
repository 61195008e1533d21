"""Doubles of search providers' APIs on loopback, as strict as their documentation.

Each refuses what its API refuses, in its own form: a wrong method or path, a missing or wrong key, unknown
parameters, values out of range. Sources: the `docs` of each entry of `search_providers`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from hermes_jobs.settings.search_providers import SearchName
from tests.server_thread import ServerThread

KEY = "search-key-that-nobody-may-see-0123456789"


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Says:
    """An answer: JSON, or a text."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Api(Protocol):
    """One provider's rules and results."""

    prefix: str

    def answer(self, asked: Asked) -> Says:
        """Its answer to a request."""


PAGES = tuple(
    {"title": f"Page {n}", "url": f"https://example.org/{n}", "text": f"What page {n} says."}
    for n in range(1, 31)
)


class SearXNGApi:
    """GET or POST `/search`; a format that is not among `formats` is refused with 403 and a web page."""

    prefix = ""
    KNOWN = frozenset(
        {"q", "categories", "engines", "language", "pageno", "time_range", "format", "safesearch"}
    )

    def __init__(self, formats: tuple[str, ...] = ("html", "json")) -> None:
        self.formats = formats
        self.unresponsive: list[list[str]] = []

    def answer(self, asked: Asked) -> Says:
        if (asked.method, asked.path) != ("GET", "/search") or not asked.params.get("q"):
            return Says("<!doctype html>Bad request", 400)
        assert set(asked.params) <= self.KNOWN, asked.params
        if asked.params.get("format", "html") not in self.formats:
            return Says("<!doctype html><title>403 Forbidden</title>", 403)
        assert asked.params.get("time_range", "day") in {"day", "week", "month", "year"}
        results = [
            {
                "url": page["url"],
                "title": page["title"],
                "content": page["text"],
                "publishedDate": "2026-11-20T08:00:00" if page is PAGES[0] else None,
                "engine": "google",
                "engines": ["google"],
                "score": 1.0,
                "category": "general",
                "parsed_url": ["https", "example.org", "/1", "", "", ""],
            }
            for page in PAGES[:20]  # a page of them, whatever is asked for
        ]
        return Says(
            {
                "query": asked.params["q"],
                "number_of_results": 0,
                "results": results,
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": [],
                "unresponsive_engines": self.unresponsive,
            }
        )


class BraveApi:
    """GET `/res/v1/web/search` with `X-Subscription-Token`; wrong keys and values are 422."""

    prefix = "/res/v1"
    KNOWN = frozenset(
        {
            "q",
            "country",
            "search_lang",
            "ui_lang",
            "count",
            "offset",
            "safesearch",
            "freshness",
            "text_decorations",
            "spellcheck",
            "result_filter",
            "goggles",
            "units",
            "extra_snippets",
            "summary",
        }
    )

    def answer(self, asked: Asked) -> Says:
        if (asked.method, asked.path) != ("GET", "/res/v1/web/search"):
            return self.refused(404, "NOT_FOUND", "Not found")
        if asked.headers.get("x-subscription-token") != KEY:
            return self.refused(
                422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid."
            )
        assert set(asked.params) <= self.KNOWN, asked.params
        query = asked.params.get("q", "")
        count = asked.params.get("count", "20")
        fresh = asked.params.get("freshness", "pd")
        fits = 0 < len(query) <= 400 and len(query.split()) <= 50 and 1 <= int(count) <= 20
        if not fits or not re.fullmatch(r"p[dwmy]|\d{4}-\d\d-\d\dto\d{4}-\d\d-\d\d", fresh):
            return self.refused(422, "VALIDATION", "Unable to validate request parameter(s)")
        results = [
            {
                "type": "search_result",
                "title": page["title"],
                "url": page["url"],
                "is_source_local": False,
                "is_source_both": False,
                "description": f"<strong>{page['title']}</strong> &amp; more: {page['text']}",
                "page_age": "2026-11-20T08:00:00",
                "language": "en",
                "family_friendly": True,
            }
            for page in PAGES[: int(count)]
        ]
        found = {"type": "search", "results": results, "family_friendly": True}
        nothing = query.startswith("nothing")
        return Says(
            {"type": "search", "query": {"original": query}, **({} if nothing else {"web": found})},
            headers={"X-RateLimit-Remaining": "0, 1999", "X-RateLimit-Reset": "1, 1419704"},
        )

    @staticmethod
    def refused(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Says:
        error = {"id": "b3c3", "status": status, "code": code, "detail": detail, "meta": {"component": "x"}}
        return Says({"type": "ErrorResponse", "error": error, "time": 1796000000}, status, headers or {})


class TavilyApi:
    """POST `/search` with a bearer token; errors stand in `detail`."""

    prefix = ""
    KNOWN = frozenset(
        {
            "query",
            "search_depth",
            "chunks_per_source",
            "max_results",
            "topic",
            "time_range",
            "start_date",
            "end_date",
            "include_answer",
            "include_raw_content",
            "include_images",
            "include_domains",
            "exclude_domains",
            "country",
        }
    )

    def answer(self, asked: Asked) -> Says:
        if (asked.method, asked.path) != ("POST", "/search"):
            return Says({"detail": "Not Found"}, 404)
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return self.refused(401, "Unauthorized: missing or invalid API key.")
        body = asked.body
        assert set(body) <= self.KNOWN, body
        if not body.get("query") or len(body["query"]) > 400:
            return self.refused(400, "Query is too long. Max query length is 400 characters.")
        assert body.get("search_depth", "basic") in {"basic", "advanced", "fast", "ultra-fast"}
        assert 0 <= body.get("max_results", 5) <= 20
        assert body.get("time_range", "day") in {"day", "week", "month", "year", "d", "w", "m", "y"}
        assert isinstance(body.get("include_domains", []), list)
        results = [
            {
                "title": page["title"],
                "url": page["url"],
                "content": page["text"],
                "score": 0.8,
                "raw_content": None,
            }
            for page in PAGES[: body.get("max_results", 5)]
        ]
        return Says(
            {
                "query": body["query"],
                "follow_up_questions": None,
                "answer": None,
                "images": [],
                "results": results,
                "response_time": 1.67,
                "request_id": "123e4567",
            }
        )

    @staticmethod
    def refused(status: int, said: str, headers: Mapping[str, str] | None = None) -> Says:
        return Says({"detail": {"error": said}}, status, headers or {})


class ExaApi:
    """POST `/search` with `x-api-key`; errors have a `tag`."""

    prefix = ""
    KNOWN = frozenset(
        {
            "query",
            "type",
            "category",
            "userLocation",
            "numResults",
            "includeDomains",
            "excludeDomains",
            "startPublishedDate",
            "endPublishedDate",
            "moderation",
            "contents",
        }
    )

    def answer(self, asked: Asked) -> Says:
        if (asked.method, asked.path) != ("POST", "/search"):
            return self.refused(404, "NOT_FOUND", "Not found")
        if asked.headers.get("x-api-key") != KEY:
            return self.refused(401, "INVALID_API_KEY", "Invalid API key")
        body = asked.body
        assert set(body) <= self.KNOWN, body
        if not body.get("query") or not 1 <= body.get("numResults", 10) <= 100:
            return self.refused(400, "INVALID_REQUEST_BODY", "Invalid request body")
        assert body.get("type", "auto") in {"auto", "neural", "fast", "instant", "deep"}
        since = body.get("startPublishedDate", "2026-01-01T00:00:00.000Z")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", since), since
        highlights = bool(body.get("contents", {}).get("highlights"))
        results = [
            {
                "id": page["url"],
                "title": page["title"] if page is not PAGES[1] else None,
                "url": page["url"],
                "publishedDate": "2026-11-20T08:00:00.000Z" if page is PAGES[0] else None,
                "author": None,
                **(
                    {"highlights": [page["text"], "And more."], "highlightScores": [0.4, 0.3]}
                    if highlights
                    else {}
                ),
            }
            for page in PAGES[: body.get("numResults", 10)]
        ]
        return Says(
            {"requestId": "b594", "resolvedSearchType": "neural", "results": results, "costDollars": {}}
        )

    @staticmethod
    def refused(status: int, tag: str, said: str, headers: Mapping[str, str] | None = None) -> Says:
        return Says({"requestId": "b594", "error": said, "tag": tag}, status, headers or {})


class SearchServer:
    """One API on loopback. Answers of `first` go before the API's own; `asked` is what arrived."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.asked: list[Asked] = []
        self.first: list[Says] = []
        self.problems: list[str] = []
        self.hold = threading.Event()
        self.held = threading.Event()
        self.hold.set()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}{self.api.prefix}"

    def answer(self, asked: Asked) -> Says:
        self.asked.append(asked)
        self.held.set()
        self.hold.wait()
        if self.first:
            return self.first.pop(0)
        try:
            return self.api.answer(asked)
        except AssertionError as problem:
            self.problems.append(str(problem))
            return Says({"error": "the request is not as documented"}, 500)


@contextmanager
def searching(api: Api) -> Iterator[SearchServer]:
    """The server in a thread; at its end no request may have been against the documentation."""
    server = SearchServer(api)
    with ServerThread(server.http):
        try:
            yield server
        finally:
            server.hold.set()
    assert not server.problems, server.problems


def api_of(name: SearchName) -> Api:
    """The double of that provider."""
    apis: dict[str, type[Api]] = {
        "searxng": SearXNGApi,
        "brave": BraveApi,
        "tavily": TavilyApi,
        "exa": ExaApi,
    }
    return apis[name]()


def _handler(server: SearchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            is_form = self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
            self._answer(dict(parse_qsl(content.decode())) if is_form else json.loads(content))

        def _answer(self, body: Any) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            params = dict(parse_qsl(parts.query, keep_blank_values=True))
            says = server.answer(Asked(self.command, parts.path, params, headers, body))
            is_text = isinstance(says.body, str)
            content = (says.body if is_text else json.dumps(says.body)).encode()
            self.send_response(says.status)
            self.send_header("Content-Type", "text/html" if is_text else "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in says.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(content)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name for it
            pass

    return Handler
