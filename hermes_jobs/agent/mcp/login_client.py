"""The HTTP client of a login. The server and its authorization server may be hostile: a login fetches nothing
from this machine for a server elsewhere, and reads answers of bounded size in bounded time."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError

from hermes_jobs.agent.mcp.bearer import LARGEST_ANSWER, RENEWAL_SECONDS
from hermes_jobs.agent.mcp.oauth_grants import LOOPBACK, check_is_safe

TOO_LARGE = f"an answer is larger than {LARGEST_ANSWER >> 20} MiB"


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
        found = bytearray()
        async for chunk in response.aiter_raw():
            found += chunk
            if len(found) > LARGEST_ANSWER:
                raise OAuthFlowError(TOO_LARGE)
    finally:
        await response.aclose()
    left_out = {"content-length", "transfer-encoding"}
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in left_out]
    return httpx2.Response(
        response.status_code, headers=headers, content=bytes(found), request=response.request
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
