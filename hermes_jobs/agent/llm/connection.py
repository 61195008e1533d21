"""Why a connection failed, told from the chain of exceptions under the one that a client raises."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

UNTRUSTED = (
    "The server's certificate is not trusted: name a file with its issuer in SSL_CERT_FILE, or use http for "
    "a server on this machine."
)
"""What to do about it."""


def unreachable(error: Exception, url: str) -> str:
    """What keeps the endpoint from being reached, in a sentence."""
    found = list(causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in found):
        return f"The name in {url} cannot be resolved."
    if any(isinstance(cause, ConnectionRefusedError) for cause in found):
        return f"Nothing answers at {url}: the connection was refused."
    if any(isinstance(cause, ssl.SSLError) for cause in found):
        return f"No secure connection to {url}: {root(error)}"
    return f"The connection to {url} failed: {root(error)}"


def is_cut(error: Exception) -> bool:
    """Whether the connection failed: the clients' layer over aiohttp calls that a timeout too."""
    return any(
        isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, TimeoutError)
        for cause in causes(error)
    )


def root(error: Exception) -> str:
    """What the last cause says, in one line; its class where it says nothing."""
    *_, last = causes(error)
    # aiohttp puts a status before its message that the server never sent.
    told = last.message if isinstance(last, HttpProcessingError) else str(last)
    return " ".join(told.split()) or type(last).__name__


def is_untrusted(error: Exception) -> bool:
    """Whether the server showed a certificate that is not trusted, which another attempt does not change."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, in this order."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__
