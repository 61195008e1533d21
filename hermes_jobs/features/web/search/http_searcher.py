"""The searcher of a configured provider. Over HTTP: one request to its address, limits on time and size,
gentle retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from hermes_jobs.features.web.search.brave import Brave
from hermes_jobs.features.web.search.duckduckgo import DuckDuckGo
from hermes_jobs.features.web.search.exa import Exa
from hermes_jobs.features.web.search.query import (
    MAX_MESSAGE_CHARS,
    HttpRequest,
    SearchApi,
    SearchFailed,
    SearchQuery,
    SearchRefusal,
    SearchResults,
    WebSearcher,
    one_line,
)
from hermes_jobs.features.web.search.searxng import SearXNG
from hermes_jobs.features.web.search.tavily import Tavily
from hermes_jobs.kernel.engine.coroutine import waited_for
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS, SearchName, SearchProvider

if TYPE_CHECKING:
    from httpx2 import AsyncClient

SECONDS = 20.0
MAX_BYTES = 4 * 1024 * 1024
TRIES = 3  # attempts after a rate limit: some plans allow one search a second
MAX_PAUSE = 5.0  # the most seconds before an automatic retry
DEFAULT_PAUSE = 1.0
REDACTED = "[REDACTED]"


class _Response(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    location: str = ""
    pause: float | None = None


class HttpSearcher:
    """A provider at its address. The address is configured by the user and may be private: of the
    model's input it gets only the query, and redirects are not followed.
    """

    def __init__(
        self,
        provider: SearchProvider,
        api: SearchApi,
        base_url: str,
        *,
        secret: str = "",
    ) -> None:
        """`secret` is removed from messages."""
        self._provider = provider
        self._api = api
        self._base_url = base_url.rstrip("/")
        self._secret = secret

    @property
    def title(self) -> str:
        """See `WebSearcher.title`."""
        return self._provider.title

    def search(self, query: SearchQuery, cancel: Cancel) -> SearchResults:
        """See `WebSearcher.search`."""
        from httpx2 import HTTPError, InvalidURL, TimeoutException

        request = self._api.request(query)
        try:
            response = waited_for(self._answered(request), cancel, SECONDS)
        except (TimeoutError, TimeoutException) as error:
            text = f"{self.title} did not answer within {SECONDS:g} s."
            raise SearchFailed("unreachable", text) from error
        except (HTTPError, InvalidURL, UnicodeError) as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            text = f"{self.title} cannot be reached at {self._host} ({self._safe(what)})."
            raise SearchFailed("unreachable", text) from error
        if not 200 <= response.status < 300:
            raise self._failure(response)
        try:
            results = self._api.parse_results(response.body)
        except msgspec.DecodeError as error:
            text = f"What {self._host} answers are not search results: {self._safe(str(error))}."
            hint = f"Is this the address of {self.title}? See {self._provider.docs}"
            raise SearchFailed("format", text, hint=hint) from error
        return msgspec.structs.replace(results, hits=results.hits[: query.limit])

    async def _answered(self, request: HttpRequest) -> _Response:
        from httpx2 import AsyncClient

        async with AsyncClient(timeout=SECONDS, follow_redirects=False) as client:
            for remaining in reversed(range(TRIES)):
                response = await self._send(client, request)
                is_rate_limited = response.status == 429
                wait = DEFAULT_PAUSE if response.pause is None else response.pause
                if (
                    not is_rate_limited
                    or not remaining
                    or wait > MAX_PAUSE
                    or not self._may_try_again(response)
                ):
                    return response
                await asyncio.sleep(wait)
        raise AssertionError("a search is tried at least once")

    async def _send(self, client: AsyncClient, request: HttpRequest) -> _Response:
        method = "GET" if request.body is None else "POST"
        async with client.stream(
            method,
            self._base_url + request.path,
            params=dict(request.params) or None,
            headers={"user-agent": "hermes-jobs", **request.headers},
            json=request.body,
        ) as response:
            body = b""
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise SearchFailed("format", f"{self._host} answers more than {MAX_BYTES:,} bytes.")
            headers = response.headers
            return _Response(
                response.status_code,
                body,
                headers.get("location", ""),
                _seconds(headers.get("retry-after") or headers.get("x-ratelimit-reset") or ""),
            )

    def _may_try_again(self, response: _Response) -> bool:
        return self._api.refusal(response.status, response.body).kind == "rate"

    def _failure(self, response: _Response) -> SearchFailed:
        """The error for a response without results."""
        status, title, key = response.status, self.title, self._provider.key
        if 300 <= status < 400:
            there = urlsplit(response.location).netloc or response.location
            text = f"{self._host} points elsewhere ({status}: {self._safe(there)}), which is not followed."
            return SearchFailed("format", text, hint="Set web.search.base_url to where it really is.")
        refusal = self._api.refusal(status, response.body)
        message = f"{status}: {self._safe(refusal.message)}" if refusal.message else str(status)
        return _failure_of(refusal, f"({message})", title, key, self._provider.keys_at, response.pause)

    @property
    def _host(self) -> str:
        """The address without user name and password."""
        parts = urlsplit(self._base_url)
        return parts.netloc.rpartition("@")[2] or self._base_url

    def _safe(self, text: str) -> str:
        if self._secret:
            text = text.replace(self._secret, REDACTED)
        return one_line(text, MAX_MESSAGE_CHARS).rstrip(".")


def _failure_of(
    refusal: SearchRefusal, message: str, title: str, key: str | None, keys_at: str, pause: float | None
) -> SearchFailed:
    match refusal.kind:
        case "auth":
            whose = f"the key {key}" if key else "the search"
            hint = f"Keys: {keys_at}" if keys_at else "Check web.search.base_url."
            return SearchFailed("auth", f"{title} refuses {whose} {message}.", hint=hint)
        case "quota":
            text = f"The searches that {title} allows this key are used up {message}."
            return SearchFailed("quota", text, hint=f"Plan and usage: {keys_at}")
        case "rate":
            after = f" Try again in {pause:g} s." if pause else ""
            text = f"{title} takes no more searches right now {message}.{after}"
            return SearchFailed("rate", text, seconds=pause)
        case "query":
            return SearchFailed("query", f"{title} does not take this search {message}.")
        case _:
            return SearchFailed(refusal.kind, f"{title} does not search {message}.")


def _seconds(text: str) -> float | None:
    """The seconds in `Retry-After`, or the first of Brave's `X-RateLimit-Reset: 1, 1419704`."""
    first = text.partition(",")[0].strip()
    return float(first) if first.isdecimal() else None


def create_searcher(
    name: SearchName, base_url: str | None, secret: str | None, environ: Mapping[str, str]
) -> WebSearcher:
    """The provider of that name, at `base_url` where that is not its own, with that key.

    Raises `SearchFailed` where what it needs is not configured.
    """
    provider = SEARCH_PROVIDERS[name]
    if provider.key is not None and not secret:
        hint = f"Put {provider.key}=… into .env in the home. Keys: {provider.keys_at}"
        raise SearchFailed("auth", f"{provider.title} needs a key, and {provider.key} is not set.", hint=hint)
    if name == "duckduckgo":
        return DuckDuckGo(environ)
    address = base_url or provider.base_url
    if address is None:
        hint = "hermes-jobs config set web.search.base_url http://127.0.0.1:8888"
        raise SearchFailed("unavailable", f"{provider.title} needs web.search.base_url.", hint=hint)
    key = secret or ""
    api: SearchApi
    match name:
        case "searxng":
            api = SearXNG()
        case "brave":
            api = Brave(key)
        case "tavily":
            api = Tavily(key)
        case "exa":
            api = Exa(key)
    return HttpSearcher(provider, api, address, secret=key)
