"""The two OAuth grants, as subclasses of the SDK's client: authorization code and device code.

The SDK has discovery, registration, PKCE and the exchange of the code; it has no device code (RFC 8628).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    create_oauth_metadata_request,
)

from hermes_jobs.features.mcp.bearer import error_of
from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.logins import Login, OauthClient
from hermes_jobs.system.struct_types import described

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
FIRST_INTERVAL = 5.0  # seconds, if the server names none (RFC 8628, section 3.2)
MIN_INTERVAL = 1.0
SLOW_DOWN_SECONDS = 5.0  # seconds more after `slow_down` (section 3.5)
MAX_CODE_SECONDS = 1_800.0


class DeviceCode(msgspec.Struct, frozen=True, kw_only=True):
    """The response with a device code (RFC 8628, section 3.2)."""

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: float = 600
    verification_uri_complete: str = ""
    interval: float = FIRST_INTERVAL


ShowCode = Callable[[DeviceCode], None]
Sleep = Callable[[float], Awaitable[None]]


def check_is_safe(url: str, what: str) -> None:
    """Require TLS or a loopback address. Raises `OAuthFlowError`."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise OAuthFlowError(f"{what} is not reached by https: {clean(url)[:200]}")


class Grant(OAuthClientProvider):  # type: ignore[misc]  # the SDK's types stay with it
    """The base of both grants."""

    async def _perform_authorization(self) -> Any:
        """See the SDK's: the request for the tokens. Here it checks the discovered endpoints."""
        metadata = self.context.oauth_metadata
        check_is_safe(self._get_token_endpoint(), "the token endpoint")
        if metadata is not None:
            check_is_safe(str(metadata.authorization_endpoint), "the authorization endpoint")
            self._authenticate_as_it_says(metadata)
        return await super()._perform_authorization()

    def _authenticate_as_it_says(self, metadata: Any) -> None:
        """Choose how a configured client sends its secret: the authorization server's method, by default HTTP
        Basic (RFC 8414, section 2)."""
        client = self.context.client_info
        methods = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
        if client.token_endpoint_auth_method == "client_secret_post" and "client_secret_post" not in methods:
            client.token_endpoint_auth_method = "client_secret_basic"

    def login(self, server: str) -> Login:
        """The login, from the discovered endpoints and the granted tokens."""
        context = self.context
        tokens, client, metadata = context.current_tokens, context.client_info, context.oauth_metadata
        return Login(
            server=server,
            url=context.server_url,
            issuer=str(metadata.issuer) if metadata is not None else self._expected_issuer(),
            token_endpoint=self._get_token_endpoint(),
            revocation_endpoint=str(metadata.revocation_endpoint or "") if metadata is not None else "",
            resource=context.get_resource_url(),
            client=OauthClient(
                id=client.client_id,
                secret=client.client_secret or "",
                method=client.token_endpoint_auth_method or "none",
            ),
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token or "",
            expires_at=time.time() + tokens.expires_in if tokens.expires_in else 0.0,
            scope=tokens.scope or "",
        )

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        """See the SDK's, whose error would contain the whole response."""
        if response.status_code not in {200, 201}:
            raise OAuthTokenError(
                f"no tokens were given: {response.status_code} {error_of(response)}".rstrip()
            )
        await super()._handle_token_response(response)


class CodeGrant(Grant):
    """The authorization code with PKCE."""

    async def _perform_authorization(self) -> Any:
        """See the SDK's. The specification of MCP demands PKCE, and that its support is announced."""
        metadata = self.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise OAuthFlowError("the authorization server does not say that it supports PKCE with S256")
        return await super()._perform_authorization()


class DeviceGrant(Grant):
    """The device code (RFC 8628): the user enters it in a browser anywhere. Set `http`, `show`, `sleep`."""

    http: httpx2.AsyncClient
    show: ShowCode
    sleep: Sleep

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        """Get a code and show it; it takes the place of an authorization code in the request for tokens."""
        form = self._form
        if self.context.client_metadata.scope:
            form["scope"] = self.context.client_metadata.scope
        response = await self.http.send(self._request(await self._endpoint(), form))
        if response.status_code != 200:
            problem = f"{response.status_code} {error_of(response)}".rstrip()
            raise OAuthFlowError(f"the authorization server gave no device code: {problem}")
        try:
            code = msgspec.json.decode(response.content, type=described(DeviceCode))
        except msgspec.DecodeError as error:
            raise OAuthFlowError("the answer with the device code cannot be read") from error
        check_is_safe(code.verification_uri, "the address for the code")
        self._interval = max(code.interval, MIN_INTERVAL)
        self._until = time.monotonic() + min(code.expires_in, MAX_CODE_SECONDS)
        self.show(code)
        await self.sleep(self._interval)
        return code.device_code, ""

    async def _exchange_token_authorization_code(self, auth_code: str, _code_verifier: str) -> Any:
        """The request for tokens (section 3.4)."""
        self._code = auth_code
        return self._poll()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        """Poll until the user has decided (section 3.5)."""
        while response.status_code == 400 and (error := error_of(response)) in {
            "authorization_pending",
            "slow_down",
        }:
            if error == "slow_down":
                self._interval += SLOW_DOWN_SECONDS
            if time.monotonic() + self._interval > self._until:
                raise OAuthFlowError("the code has expired before it was entered")
            await self.sleep(self._interval)
            try:
                response = await self.http.send(self._poll())
            except httpx2.TransportError:  # section 3.5: at growing intervals then
                self._interval *= 2
        await super()._handle_token_response(response)

    def _poll(self) -> httpx2.Request:
        form = {**self._form, "grant_type": DEVICE_GRANT, "device_code": self._code}
        return self._request(self._get_token_endpoint(), form)

    @property
    def _form(self) -> dict[str, str]:
        return {"client_id": self.context.client_info.client_id, "resource": self.context.get_resource_url()}

    def _request(self, url: str, form: dict[str, str]) -> httpx2.Request:
        form, headers = self.context.prepare_token_auth(form, {"Accept": "application/json"})
        return httpx2.Request("POST", url, data=form, headers=headers)

    async def _endpoint(self) -> str:
        """The device authorization endpoint, which the SDK's metadata lacks (section 4)."""
        context = self.context
        urls = build_oauth_authorization_server_metadata_discovery_urls(
            context.auth_server_url, context.server_url
        )
        for url in urls if context.oauth_metadata is not None else ():
            response = await self.http.send(create_oauth_metadata_request(url))
            if response.status_code != 200:
                continue
            metadata = msgspec.json.decode(response.content)
            if isinstance(metadata, dict) and metadata.get("issuer") == str(context.oauth_metadata.issuer):
                endpoint = metadata.get("device_authorization_endpoint")
                if isinstance(endpoint, str):
                    check_is_safe(endpoint, "the endpoint for device codes")
                    return endpoint
        raise OAuthFlowError("the authorization server offers no login by device code")
