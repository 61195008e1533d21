"""Requests to a server elsewhere: bounded answers, and what went wrong with each.

The SDK hides status codes, and one connection that breaks would end all requests to that server. Here each
request fails alone, its `Exchange` says why and whether the server may have acted, and no answer is read into
memory beyond a limit, compressed or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, NamedTuple

import anyio
import httpx2
import msgspec

from hermes_jobs.features.mcp.messages import Failure
from hermes_jobs.features.mcp.pipes import MAX_LINE
from hermes_jobs.system.struct_types import described

SIDE_REQUEST_SECONDS = 10.0
"""The limit of requests without an awaited answer, which delay others: notifications, end of session."""
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
MAY_HAVE_ACTED = frozenset({408, 409})  # of the statuses below 500
SESSION = "Mcp-Session-Id"


class HttpFailure(NamedTuple):
    """Why a request has failed. `sent`: the server may have acted on it; `expired`: its session is over."""

    kind: Failure
    text: str
    sent: bool = False
    expired: bool = False


class Exchange:
    """A call or another request of a worker, with all HTTP requests that are made for it.

    `trouble` is that of the newest. `is_answered`: one of them had an answer, so the server has acted,
    whatever follows: the SDK lists the tools after the call of an unknown one.
    """

    def __init__(self) -> None:
        self.trouble: HttpFailure | None = None
        self.is_answered = False
        self._scopes: set[anyio.CancelScope] = set()
        self._is_over = False

    @classmethod
    def begin(cls) -> Exchange:
        """One for the requests of this task and of those that it starts."""
        exchange = cls()
        EXCHANGE.set(exchange)
        return exchange

    def end(self) -> None:
        """Cancel the requests that are still under way."""
        self._is_over = True
        for scope in self._scopes:
            scope.cancel()

    def scope(self) -> anyio.CancelScope:
        """A scope that is cancelled with the exchange."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        if self._is_over:
            scope.cancel()
        return scope

    def forget(self, scope: anyio.CancelScope) -> None:
        """That scope was left."""
        self._scopes.discard(scope)


EXCHANGE: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange that requests belong to."""


class _Message(msgspec.Struct):
    """The parts of a JSON-RPC message that distinguish requests, notifications, errors and results."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class ServerClient(httpx2.AsyncClient):
    """The client for one server."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """See `httpx2.AsyncClient`. Only streams of events are handed on unread; what cannot be used is
        replaced by an empty answer with the status 502."""
        exchange = EXCHANGE.get()
        if exchange is None or not _is_waited_for(request):
            try:
                async with asyncio.timeout(None if request.method == "GET" else SIDE_REQUEST_SECONDS):
                    return await self._answer(request, Exchange(), options)
            except TimeoutError:
                return _nothing(request)
        exchange.trouble = None
        scope = exchange.scope()
        try:
            with scope:
                return await self._answer(request, exchange, options)
        finally:
            exchange.forget(scope)
        return _nothing(request)  # the exchange is over

    async def _answer(
        self, request: httpx2.Request, exchange: Exchange, options: dict[str, Any]
    ) -> httpx2.Response:
        try:
            response = await super().send(request, **{**options, "stream": True})
        except httpx2.HTTPError as error:
            sent = not isinstance(error, NOT_SENT)
            kind: Failure = "lost" if sent else "ended"
            what = "the connection was lost" if sent else "no connection"
            exchange.trouble = HttpFailure(kind, f"{what}: {_said(error)}", sent)
            return _nothing(request)
        if _is(response, "text/event-stream") and response.status_code < 300 and not _is_encoded(response):
            exchange.is_answered = True
            response.stream = _Events(response.stream, exchange)
            return response
        try:
            body = await self._body(response, exchange)
        finally:
            await response.aclose()
        if exchange.trouble is None:
            exchange.trouble = self._refusal(request, response, body)
            exchange.is_answered = exchange.is_answered or response.is_success
        return _read(response, body)

    @staticmethod
    async def _body(response: httpx2.Response, exchange: Exchange) -> bytes:
        """The body; what makes it useless is noted."""
        if _is_encoded(response):
            text = "its answer is compressed, although that was not asked for"
            exchange.trouble = exchange.trouble or HttpFailure("bad_result", text, sent=True)
            return b""
        body = bytearray()
        try:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_LINE:
                    text = f"it sent more than {MAX_LINE >> 20} MiB in one message"
                    exchange.trouble = HttpFailure("too_large", text, sent=True)
                    return b""
        except httpx2.HTTPError as error:
            exchange.trouble = HttpFailure("lost", f"its answer broke off: {_said(error)}", sent=True)
            return b""
        return bytes(body)

    def _refusal(self, request: httpx2.Request, response: httpx2.Response, body: bytes) -> HttpFailure | None:
        """The reason of an error status whose body has none."""
        code = response.status_code
        if code == HTTPStatus.NOT_FOUND and SESSION in request.headers:
            return HttpFailure("ended", "its session has expired", expired=True)
        if code < 400 or _is_error(response, body):
            return None
        text = f"it answered {code} {response.reason_phrase}".rstrip()
        if code in (401, 403) and "Authorization" in self.headers:
            text += "; look at the Authorization header of its entry"
        wait = response.headers.get("Retry-After", "")
        if wait.isdecimal() and len(wait) < 6:
            text += f", and asks to wait {wait} s"
        return HttpFailure("refused", text, sent=code >= 500 or code in MAY_HAVE_ACTED)


class _Events(httpx2.AsyncByteStream):
    """A stream of events that ends with its exchange."""

    def __init__(self, inner: Any, exchange: Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._inner)
        while True:
            scope = self._exchange.scope()
            try:
                with scope:
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            finally:
                self._exchange.forget(scope)
            if scope.cancelled_caught:
                return
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _is_waited_for(request: httpx2.Request) -> bool:
    """Whether a message is sent that has an answer."""
    if request.method != "POST":
        return False
    try:
        return msgspec.json.decode(request.content, type=described(_Message)).id is not msgspec.UNSET
    except msgspec.DecodeError:
        return False


def _is_error(response: httpx2.Response, body: bytes) -> bool:
    """Whether the body is a JSON-RPC error, which is more specific than the status."""
    if not _is(response, "application/json"):
        return False
    try:
        error = msgspec.json.decode(body, type=described(_Message)).error
    except msgspec.DecodeError:
        return False
    return isinstance(error, dict) and isinstance(error.get("message"), str) and "code" in error


def _is(response: httpx2.Response, kind: str) -> bool:
    return bool(response.headers.get("Content-Type", "").lower().startswith(kind))


def _is_encoded(response: httpx2.Response) -> bool:
    return response.headers.get("Content-Encoding", "identity").lower() != "identity"


def _read(response: httpx2.Response, body: bytes) -> httpx2.Response:
    """The answer with a body that was read."""
    left_out = {"content-length", "content-encoding", "transfer-encoding"}
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in left_out]
    read = httpx2.Response(response.status_code, headers=headers, content=body, request=response.request)
    read.next_request = response.next_request
    return read


def _nothing(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(HTTPStatus.BAD_GATEWAY, request=request)


def _said(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:300].rstrip(".")
