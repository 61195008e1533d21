"""Why a connection failed, told from the chain of exceptions under the one that a client raises."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError


def unreachable(error: Exception, url: str) -> str:
    """What keeps the endpoint from being reached, in a sentence."""
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"The name in {url} cannot be resolved."
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return f"Nothing answers at {url}: the connection was refused."
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return f"No secure connection to {url}: {root(error)}"
    return f"The connection to {url} failed: {root(error)}"


def is_cut(error: Exception) -> bool:
    """Whether the connection failed: the clients' layer over aiohttp calls that a timeout too."""
    return any(
        isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, TimeoutError)
        for cause in _causes(error)
    )


def root(error: Exception) -> str:
    """What the last cause says, in one line; its class where it says nothing."""
    *_, last = _causes(error)
    # aiohttp puts a status before its message that the server never sent.
    told = last.message if isinstance(last, HttpProcessingError) else str(last)
    return " ".join(told.split()) or type(last).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__
