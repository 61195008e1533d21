"""Adds a server's access token to requests, and renews it before or after it expires."""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
from msgspec.structs import replace

from hermes_jobs.features.mcp.http_client import EXCHANGE, HttpFailure
from hermes_jobs.features.mcp.logins import Login, LoginFile, needed
from hermes_jobs.features.mcp.messages import Failure
from hermes_jobs.system.file_lock import LockTimeout
from hermes_jobs.system.struct_types import described

RENEWED_BEFORE = 30.0  # seconds before it expires
RENEWAL_SECONDS = 30.0
MAX_ANSWER_BYTES = 1 << 20  # bytes of an authorization server's answer
PAUSE_AFTER_PROBLEM = 10.0  # seconds without another attempt
REFUSALS = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Errors of RFC 6749, section 5.2, after which the same request never succeeds."""
HIDDEN = b"[REDACTED]"

_PARAMETER = re.compile(r'([a-z_]{1,40})=(?:"([\x20\x21\x23-\x7e]*)"|([\x21\x23-\x2b\x2d-\x7e]+))')


class NotRenewed(Exception):
    """The login could not be renewed now; a retry may succeed."""


class TokenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a token endpoint (RFC 6749, section 5.1)."""

    access_token: str
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None


class Bearer(httpx2.Auth):
    """Authenticates the requests to a server by a login file."""

    def __init__(self, server: str, url: str, file: LoginFile) -> None:
        self._server = server
        self._origin = _origin(httpx2.URL(url))
        self._file = file
        self._reported: set[str] = set()

    def hide(self, content: bytes) -> bytes:
        """Remove the tokens of this login from the content."""
        for token in self._reported:
            content = content.replace(token.encode(), HIDDEN)
        return content

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """See `httpx2.Auth`: sends the token, and retries once with a new one if the server refuses it."""
        login = self._file.read()
        if login is not None and not login.ended and login.expires_within(RENEWED_BEFORE):
            login = await self._renewed(login)
        self._add(login, request)
        response = yield request
        if response.status_code == 401 and login is not None and not login.ended:
            sent = login
            login = await self._renewed(sent)
            if login is not None and login.access_token != sent.access_token and not login.ended:
                self._add(login, request)
                response = yield request
                if response.status_code == 401:
                    login = await asyncio.to_thread(self._end, login, "the server refuses its new token")
        await self._judge(login, response)

    def _add(self, login: Login | None, request: httpx2.Request) -> None:
        if login is not None and not login.ended and _origin(request.url) == self._origin:
            self._reported.update(login.tokens)
            request.headers["Authorization"] = f"Bearer {login.access_token}"

    async def _judge(self, login: Login | None, response: httpx2.Response) -> None:
        """Store why the request was refused, if a login or rights are missing."""
        if response.status_code == 401:
            if login is not None and login.problem and not login.ended:
                self._report("refused", f"its login could not be renewed now: {login.problem}")
            else:
                reason = (login.ended if login is not None else "") or "the server asks for one"
                self._report("login", needed(self._server, reason))
        elif response.status_code == 403:
            challenge = challenge_of(response)
            if challenge.get("error") == "insufficient_scope":
                scope = challenge.get("scope", "")
                await asyncio.to_thread(self._require_scope, scope)
                scope_text = f" ({scope})" if scope else ""
                self._report(
                    "scope", f"it wants more rights{scope_text}: hermes-jobs mcp login {self._server}"
                )

    @staticmethod
    def _report(kind: Failure, text: str) -> None:
        exchange = EXCHANGE.get()
        if exchange is not None:
            exchange.trouble = HttpFailure(kind, text)

    def _require_scope(self, scope: str) -> None:
        """Store the scopes for the next login."""
        with self._file.locked():
            login = self._file.read()
            if login is not None and login.wanted != scope:
                self._file.write(replace(login, wanted=scope))

    async def _renewed(self, login: Login) -> Login | None:
        """The login with a new token, or unchanged if it cannot be renewed now.

        The renewal continues when the request is cancelled: a new refresh token must not be lost.
        """
        renewal = asyncio.ensure_future(asyncio.to_thread(renew, self._file, login.access_token))
        try:
            return await asyncio.shield(renewal)
        except (NotRenewed, OSError) as error:
            return replace(login, problem=str(error))

    def _end(self, login: Login, reason: str) -> Login | None:
        with self._file.locked():
            current = self._file.read()
            if current is None or current.access_token != login.access_token:
                return current
            ended = replace(current, ended=reason)
            self._file.write(ended)
            return ended


def renew(file: LoginFile, used: str) -> Login | None:
    """The login with a new access token, from the authorization server unless another process has renewed
    it; with `ended` set if it can never be renewed.

    None: the login was removed. Raises `NotRenewed` if a retry may succeed, and `OSError`.
    """
    try:
        with file.locked():
            login = file.read()
            if login is None or login.ended or login.access_token != used:
                return login
            if login.tried_at + PAUSE_AFTER_PROBLEM > time.time():
                raise NotRenewed(login.problem)
            try:
                changed = _renewed(login)
            except NotRenewed as problem:
                file.write(replace(login, tried_at=time.time(), problem=str(problem)))
                raise
            file.write(changed)
            return changed
    except LockTimeout as error:
        raise NotRenewed("another process has been renewing it for too long") from error


def _renewed(login: Login) -> Login:
    if not login.refresh_token:
        return replace(login, ended="it has expired")
    form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    response = post(login, login.token_endpoint, form)
    if response.status_code != 200:
        error = error_of(response)
        if response.status_code in (400, 401) and error in REFUSALS:
            return replace(login, ended=f"it was refused: {error}")
        raise NotRenewed(f"the authorization server answered {response.status_code} {error}".rstrip())
    try:
        answer = msgspec.json.decode(response.content, type=described(TokenAnswer))
        lasts = float(answer.expires_in or 0)
    except (msgspec.DecodeError, ValueError) as error:
        raise NotRenewed("the authorization server's answer cannot be read") from error
    return replace(
        login,
        access_token=answer.access_token,
        refresh_token=answer.refresh_token or login.refresh_token,
        expires_at=time.time() + lasts if lasts else 0.0,
        scope=answer.scope or login.scope,
        tried_at=0.0,
        problem="",
    )


def post(login: Login, url: str, form: dict[str, str]) -> httpx2.Response:
    """Send a form to the authorization server, as the login's client. Raises `NotRenewed`."""
    client, headers = login.client, {"Accept": "application/json", "Accept-Encoding": "identity"}
    form = {**form, "client_id": client.id, **({"resource": login.resource} if login.resource else {})}
    if client.secret and client.method == "client_secret_basic":  # RFC 6749, section 2.3.1
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif client.secret:
        form["client_secret"] = client.secret
    try:
        with (
            httpx2.Client(timeout=RENEWAL_SECONDS) as http,
            http.stream("POST", url, data=form, headers=headers) as response,
        ):
            return _read(response)
    except (httpx2.HTTPError, OSError) as error:
        raise NotRenewed(f"the authorization server cannot be reached ({type(error).__name__})") from error


def _read(response: httpx2.Response) -> httpx2.Response:
    """The answer with its body, of bounded size and in bounded time. Raises `NotRenewed`."""
    give_up = time.monotonic() + RENEWAL_SECONDS
    result = bytearray()
    for chunk in response.iter_raw():
        result += chunk
        if len(result) > MAX_ANSWER_BYTES or time.monotonic() > give_up:
            raise NotRenewed("the authorization server's answer is too large or takes too long")
    return httpx2.Response(response.status_code, content=bytes(result), request=response.request)


def error_of(response: httpx2.Response) -> str:
    """The error code of an OAuth response, "" for none."""
    try:
        body: Any = msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        return ""
    error = body.get("error") if isinstance(body, dict) else None
    return error[:60] if isinstance(error, str) and error.isprintable() else ""


def challenge_of(response: httpx2.Response) -> dict[str, str]:
    """The parameters of the answer's `WWW-Authenticate: Bearer` (RFC 6750, section 3)."""
    challenge = _PARAMETER.findall(response.headers.get("WWW-Authenticate", ""))
    return {name: (quoted or plain)[:500] for name, quoted, plain in challenge}


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
