"""What every request passes: its host, who asks, its origin, its size, and how often."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.formparsers import MultiPartException
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.attachments.api import turn_bytes

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from hermes_jobs.features.serve.sign_in import Caller
    from hermes_jobs.features.serve.site import Part, Site

OPEN = {"/healthz", "/readyz"}
MAX_FILES = 100  # of a form; a message may have fewer, and says so
SIGN_IN = "/sign-in"
STATIC = "/static/"
BODY_SECONDS = 30
UPLOAD_SECONDS = 600  # twenty-odd megabytes from a phone
STRANGERS_PER_MINUTE = 120
SIGN_INS_PER_MINUTE = 10
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; "
        "media-src data:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send the origin `null` with forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refusal(PlainTextResponse):
    """What a request is told that is not let in; a part may say it in its own form."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(f"{said}\n", status)
        self.said = said


class Rate:
    """At most so many in a minute, of one kind."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._moments: deque[float] = deque(maxlen=limit)

    def allows(self) -> bool:
        """Count one, unless it is too many."""
        now = time.monotonic()
        if len(self._moments) == self._limit and now - self._moments[0] < 60:
            return False
        self._moments.append(now)
        return True


class Gate:
    """The one place where requests are let in. What is let in has `state.caller`, and a POST `state.form`."""

    def __init__(self, app: ASGIApp, site: Site, parts: Sequence[Part]) -> None:
        self._app = app
        self._site = site
        self._parts = [(prefix, part) for part in parts for prefix in part.prefixes]
        self._parts.sort(key=lambda each: -len(each[0]))
        self._reading: Counter[Part] = Counter()
        self._sign_ins, self._strangers = Rate(SIGN_INS_PER_MINUTE), Rate(STRANGERS_PER_MINUTE)
        settings = site.settings
        own = {f"{name}:{settings.port}" for name in ("localhost", "127.0.0.1", "[::1]", settings.host)}
        self._hosts = own | {host.lower() for host in settings.allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        state = scope.setdefault("state", {})
        if not scope["path"].startswith("/"):
            await _refusal(400, "The path of a request begins with a slash.")(scope, receive, send_safely)
            return
        answer = await self._admit(scope, state, receive)
        if isinstance(answer, Refusal) and (refuse := self._part(scope["path"]).refuse) is not None:
            answer = refuse(answer.status_code, answer.said)
        if isinstance(answer, Response):
            await answer(scope, receive, send_safely)
        else:
            await self._app(scope, answer, send_safely)

    async def _admit(self, scope: Scope, state: dict[str, Any], receive: Receive) -> Response | Receive:
        """How its body is read, or the refusal."""
        path, headers = scope["path"], Headers(scope=scope)
        if path in OPEN:
            return receive
        if headers.get("host", "").lower() not in self._hosts:
            return _refusal(421, "This host is not served here: see serve.allowed_hosts.")
        part = self._part(path)
        try:
            caller = await asyncio.to_thread(part.identify, self._site, HTTPConnection(scope))
        except LogUnavailable:
            return _refusal(503, "The log cannot be reached: try again.")
        state["caller"] = caller
        is_open = path == SIGN_IN or path.startswith(STATIC)
        changes = scope["method"] not in {"GET", "HEAD", "OPTIONS"}
        if caller is None and not is_open:
            return self._turn_away(scope, headers, browser=part.prefixes == ("/",))
        if not changes and path != SIGN_IN:
            return receive
        if path == SIGN_IN and (changes or scope["query_string"]) and not self._sign_ins.allows():
            return _refusal(429, "Too many sign-ins: wait a minute.")
        return await self._admit_change(scope, state, receive, part) if changes else receive

    def _part(self, path: str) -> Part:
        """The part whose prefix is the longest that the path begins with."""
        return next(part for prefix, part in self._parts if path.startswith(prefix))

    async def _admit_change(
        self, scope: Scope, state: dict[str, Any], receive: Receive, part: Part
    ) -> Response | Receive:
        """The same of a request that may change something."""
        caller: Caller | None = state["caller"]
        headers = Headers(scope=scope)
        is_browser = caller is None or bool(caller.csrf)
        if is_browser and not _is_own_origin(headers):
            return _refusal(403, "This request comes from another site.")
        limit, seconds = part.max_body, BODY_SECONDS
        if scope["path"].startswith(part.uploads) and _carries_files(headers):
            limit += turn_bytes(self._site.application.settings.attachments.file_mb)
            seconds = UPLOAD_SECONDS
        if self._reading[part] >= part.max_readers:
            return _refusal(503, "Too many requests at once: try again.")
        self._reading[part] += 1
        try:
            body = await _body(receive, headers, limit, seconds)
        finally:
            self._reading[part] -= 1
        if isinstance(body, Response):
            return body
        if is_browser and (refusal := await _read_form(scope, state, body)):
            return refusal
        return _again(body, receive)

    def _turn_away(self, scope: Scope, headers: Headers, *, browser: bool) -> Response:
        if not self._strangers.allows():
            return _refusal(429, "Too many requests without a sign-in: wait a minute.")
        if browser and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            return RedirectResponse(SIGN_IN, 303)
        if browser:
            return _refusal(401, "Sign in first.")
        refused = _refusal(401, "It needs a key that is known and not revoked: hermes-jobs keys add NAME.")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused


def _refusal(status: int, text: str) -> Refusal:
    return Refusal(text, status)


def _is_own_origin(headers: Headers) -> bool:
    """Whether a page of this very site sent it, as browsers say."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin.partition("://")[2].lower() == headers["host"].lower()


def _carries_files(headers: Headers) -> bool:
    return headers.get("content-type", "").lower().startswith("multipart/form-data")


async def _body(receive: Receive, headers: Headers, limit: int, seconds: float) -> bytes | Response:
    """The body, or the refusal of one that is too large or too slow."""
    too_large = _refusal(413, f"The body is larger than {limit:,} bytes.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        return too_large
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more and len(body) <= limit:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
    except TimeoutError:
        return _refusal(408, "The body took too long.")
    return bytes(body) if len(body) <= limit else too_large


async def _read_form(scope: Scope, state: dict[str, Any], body: bytes) -> Response | None:
    """Keep the form in the state; the refusal of one without its caller's token. A stranger has none."""
    try:
        state["form"] = await Request(scope, _again(body)).form(max_files=MAX_FILES, max_fields=200)
    except MultiPartException as error:
        return _refusal(400, f"The form cannot be read: {error.message}")
    caller: Caller | None = state["caller"]
    token = str(state["form"].get("csrf", "")).encode()
    if caller is not None and not hmac.compare_digest(token, caller.csrf.encode()):
        return _refusal(403, "This page is out of date: load it again.")
    return None


def _again(body: bytes, then: Receive | None = None) -> Receive:
    """A body that was read, once more; `then` says when the client goes away."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        if then is not None:
            return await then()
        await asyncio.Event().wait()  # the server ends the task when the client goes away
        return {"type": "http.disconnect"}

    return receive
