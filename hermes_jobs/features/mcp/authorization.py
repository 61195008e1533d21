"""Login at a server with the SDK's OAuth client. Imported by `mcp login` only.

The server and its authorization server may be hostile: a login fetches nothing from this machine for a server
elsewhere, and reads answers of bounded size in bounded time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from mcp.types import LATEST_PROTOCOL_VERSION
from pydantic import ValidationError

from hermes_jobs import __version__
from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.bearer import MAX_ANSWER_BYTES, RENEWAL_SECONDS, challenge_of
from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.logins import Login
from hermes_jobs.features.mcp.oauth_grants import (
    DEVICE_GRANT,
    LOOPBACK,
    CodeGrant,
    DeviceGrant,
    Grant,
    ShowCode,
    Sleep,
    check_is_safe,
)
from hermes_jobs.features.mcp.redirects import Redirect
from hermes_jobs.settings.sections.mcp_servers import McpOauth


class LoginRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested login: the server, its settings (filled in), and the login to replace."""

    server: str
    url: str
    oauth: McpOauth
    before: Login | None = None


async def log_in_by_code(wanted: LoginRequest, redirect: Redirect) -> Login:
    """Log in with a browser that is redirected to `redirect`. Raises `Rejected`."""
    address = ""

    async def show(text: str) -> None:
        nonlocal address
        address = text

    async def wait() -> AuthorizationCodeResult:
        parameters = await redirect.answer(address)
        if "error" in parameters:
            problem = clean(f"{parameters['error']} {parameters.get('error_description', '')}")[:300]
            raise OAuthFlowError(f"the authorization server refused it: {problem}")
        return AuthorizationCodeResult(
            code=parameters["code"], state=parameters.get("state"), iss=parameters.get("iss")
        )

    metadata = _metadata(["authorization_code", "refresh_token"], redirect.uri)
    grant = CodeGrant(wanted.url, metadata, _Storage(_client(wanted.oauth, redirect.uri)), show, wait)
    async with LoginClient(wanted.url) as http:
        return await _granted(wanted, grant, http)


async def log_in_by_device(wanted: LoginRequest, show: ShowCode, sleep: Sleep = asyncio.sleep) -> Login:
    """Log in with a code that `show` displays and the user enters in any browser.

    Raises `Rejected`.
    """
    grant = DeviceGrant(
        wanted.url,
        _metadata([DEVICE_GRANT, "refresh_token"], None),
        _Storage(_client(wanted.oauth, None)),
    )
    grant.show, grant.sleep = show, sleep
    async with LoginClient(wanted.url) as http:
        grant.http = http
        return await _granted(wanted, grant, http)


class _Storage:
    """The SDK's storage: returns the configured client, if any, and stores nothing."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


def _metadata(grants: list[str], redirect_uri: str | None) -> OAuthClientMetadata:
    """This client's metadata for registration (RFC 7591)."""
    return OAuthClientMetadata(
        client_name="hermes-jobs",
        redirect_uris=[redirect_uri] if redirect_uri else None,
        grant_types=grants,
        response_types=["code"] if redirect_uri else [],
        token_endpoint_auth_method="none",
    )


def _client(oauth: McpOauth, redirect_uri: str | None) -> OAuthClientInformationFull | None:
    """The registered client, if the entry has one."""
    if not oauth.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret,
        token_endpoint_auth_method="client_secret_post" if oauth.client_secret else "none",
        redirect_uris=[redirect_uri] if redirect_uri else None,
    )


async def _granted(wanted: LoginRequest, grant: Grant, http: httpx2.AsyncClient) -> Login:
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # its errors are translated here
    try:
        check_is_safe(wanted.url, "the server")
        await _drive(wanted, grant, http)
    except (OAuthFlowError, OAuthTokenError, OAuthRegistrationError) as error:
        raise _refused(grant, error) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        reason = str(error) or type(error).__name__
        raise Rejected(f"The login failed: no connection: {reason}.", kind="mcp") from error
    except (ValidationError, msgspec.DecodeError) as error:
        raise _unreadable() from error
    return grant.login(wanted.server)


async def _drive(wanted: LoginRequest, grant: Grant, http: httpx2.AsyncClient) -> None:
    """Give the SDK's flow the server's challenge, with the wanted scopes; send its requests."""
    request, challenge = await _challenged(wanted.url, http)
    scope = wanted.oauth.scope or challenge.get("scope")
    if wanted.before is not None and wanted.before.wanted:
        scope = union_scopes(union_scopes(wanted.before.scope, scope), wanted.before.wanted)
    fields = {"resource_metadata": challenge.get("resource_metadata"), "scope": scope}
    parameters = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
    async with aclosing(grant.async_auth_flow(request)) as flow:
        await anext(flow)
        answer = httpx2.Response(401, headers={"WWW-Authenticate": f"Bearer {parameters}"}, request=request)
        while (outgoing := await flow.asend(answer)) is not request:  # to be sent again, with the token
            answer = await http.send(outgoing)


async def _challenged(url: str, http: httpx2.AsyncClient) -> tuple[httpx2.Request, dict[str, str]]:
    """The challenge in the response to a request without a login.

    A server without a challenge may require a login later: then its published metadata is used.
    """
    about = {"name": "hermes-jobs", "version": __version__}
    hello = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": about}
    request = http.build_request(
        "POST",
        url,
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
        },
    )
    response = await http.send(request, stream=True)
    await response.aclose()
    return request, challenge_of(response) if response.status_code in {401, 403} else {}


def _refused(grant: Grant, error: Exception) -> Rejected:
    metadata = grant.context.oauth_metadata
    if metadata is None and isinstance(error, OAuthRegistrationError):
        return Rejected(
            "The login failed: the server does not say where to log in.",
            kind="mcp",
            hint="It may need no login, or a key in a header.",
        )
    if isinstance(error, OAuthRegistrationError) and metadata.registration_endpoint is None:
        return Rejected(
            "The login failed: the server knows registered clients only, and registers none by itself.",
            kind="mcp",
            hint="Register a client there, and set oauth.client_id of its entry (see docs/mcp.md).",
        )
    if isinstance(error.__cause__ or error.__context__, ValueError):  # it would show the whole answer
        return _unreadable()
    return Rejected(f"The login failed: {clean(str(error))[:500].rstrip('.')}.", kind="mcp")


def _unreadable() -> Rejected:
    return Rejected("The login failed: an answer does not have the form that OAuth demands.", kind="mcp")


TOO_LARGE = f"an answer is larger than {MAX_ANSWER_BYTES >> 20} MiB"


class LoginClient(httpx2.AsyncClient):
    """The client for a login at `server_url`."""

    def __init__(self, server_url: str) -> None:
        super().__init__(timeout=RENEWAL_SECONDS, headers={"Accept-Encoding": "identity"})
        self._server_is_here = _is_inside(server_url)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """See `httpx2.AsyncClient`. Raises `OAuthFlowError` for an address that is not used for a login, an
        answer that is too large, and one that takes too long."""
        url = str(request.url)
        check_is_safe(url, "an address that the server names")
        if _is_inside(url) and not self._server_is_here:
            raise OAuthFlowError(f"the server names an address of this machine: {url[:200]}")
        try:
            async with asyncio.timeout(RENEWAL_SECONDS):
                response = await super().send(request, **{**options, "stream": True})
                return response if options.get("stream") else await _read(response)
        except TimeoutError as error:
            raise OAuthFlowError(f"{url[:200]} gave no answer within {RENEWAL_SECONDS:g} s") from error


async def _read(response: httpx2.Response) -> httpx2.Response:
    try:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise OAuthFlowError("an answer is compressed, although that was not asked for")
        result = bytearray()
        async for chunk in response.aiter_raw():
            result += chunk
            if len(result) > MAX_ANSWER_BYTES:
                raise OAuthFlowError(TOO_LARGE)
    finally:
        await response.aclose()
    left_out = {"content-length", "transfer-encoding"}
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in left_out]
    return httpx2.Response(
        response.status_code, headers=headers, content=bytes(result), request=response.request
    )


def _is_inside(url: str) -> bool:
    """Whether the address is of this machine or of the link, where clouds keep keys (169.254.169.254)."""
    host = urlsplit(url).hostname or ""
    if host in LOOPBACK or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_link_local or address.is_unspecified
