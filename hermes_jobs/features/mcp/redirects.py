"""Receives the result of a login in the browser: at an address of this host, or pasted."""

from __future__ import annotations

import asyncio
import html
import secrets
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from hermes_jobs.errors import Rejected

CALLBACK = "/callback"
PASTES = 3  # tries
ANSWER = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
)

Answer = Mapping[str, str]
"""The parameters of the redirected address: `code`, `state`, `iss`, or `error` (RFC 6749, section 4.1.2)."""


class Redirect(Protocol):
    """Shows the login address to the user, and receives the redirect."""

    @property
    def uri(self) -> str:
        """The address to which the authorization server sends the browser."""

    async def answer(self, address: str) -> Answer:
        """Show the address and wait for the answer to it. Raises `Rejected`."""


def state_of(address: str) -> str:
    """The state in an address, which identifies the login."""
    return _parameters(address).get("state", "")


def _parameters(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


class Loopback:
    """Listens on this host (RFC 8252, section 7.3) for the browser's redirect. Use it with `async with`.

    `uri` is its address, such as `http://localhost:8123/callback`; "": at any free port.
    """

    def __init__(self, uri: str, show: Callable[[str], None], seconds: float) -> None:
        self.uri = uri
        self._show = show
        self._seconds = seconds
        self._state = secrets.token_hex(16)  # matches nothing before the address is known
        self._result: asyncio.Future[Answer]

    async def __aenter__(self) -> Loopback:
        self._result = asyncio.get_running_loop().create_future()
        address = urlsplit(self.uri or f"http://127.0.0.1{CALLBACK}")
        host, port = address.hostname or "127.0.0.1", address.port or 0
        try:
            self._server = await asyncio.start_server(self._visit, host, port)
        except OSError as error:
            raise Rejected(
                f"Nothing can listen at {host}:{port} for the answer: {error.strerror}.",
                kind="mcp",
                hint="Use --paste.",
            ) from error
        if not self.uri:
            self.uri = f"http://{host}:{self._server.sockets[0].getsockname()[1]}{CALLBACK}"
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._server.close()

    async def answer(self, address: str) -> Answer:
        """See `Redirect`."""
        self._state = state_of(address)
        self._show(address)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._result
        except TimeoutError as error:
            raise Rejected(
                f"No login came back within {self._seconds:g} s.",
                kind="timeout",
                hint="Is the browser on another machine? Use --paste.",
            ) from error

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; only the redirect with the right state counts."""
        try:
            line = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).split(b"\r\n", 1)[0]
            words = line.decode("ascii", "replace").split(" ")
            target = words[1] if len(words) == 3 and words[0] == "GET" else ""
            parameters = _parameters(target)
            is_it = urlsplit(target).path == (urlsplit(self.uri).path or "/") and (
                secrets.compare_digest(parameters.get("state", "").encode(), self._state.encode())
            )
            failed = parameters.get("error", "")
            if not is_it:
                status, text = "404 Not Found", "This is not the answer that hermes-jobs waits for."
            elif failed:
                status, text = "200 OK", f"The login was refused: {failed}. You can close this page."
            else:
                status, text = "200 OK", "The login is done. You can close this page."
            page = f"<!doctype html><title>hermes-jobs</title><p>{html.escape(text)}</p>".encode()
            writer.write(ANSWER.format(status=status, length=len(page)).encode() + page)
            await writer.drain()
            if is_it and not self._result.done():
                self._result.set_result(parameters)
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()


class Paste:
    """Lets the user paste the address of the redirect, where nothing listens.

    `ask(text)` asks for a line; `uri` is as in `Loopback`, with a port that is hardly ever used.
    """

    def __init__(self, uri: str, show: Callable[[str], None], ask: Callable[[str], str]) -> None:
        self.uri = uri or f"http://127.0.0.1:{49152 + secrets.randbelow(16384)}{CALLBACK}"
        self._show = show
        self._ask = ask

    async def answer(self, address: str) -> Answer:
        """See `Redirect`."""
        self._show(address)
        text = "The address that your browser shows then"
        for _ in range(PASTES):
            parameters = _parameters((await asyncio.to_thread(self._ask, text)).strip())
            if parameters.get("state") == state_of(address) and (
                "code" in parameters or "error" in parameters
            ):
                return parameters
            text = f"That is not the address after this login: it begins with {self.uri}?"
        raise Rejected("None of these was the address after this login.", kind="mcp")
