"""Maps the exceptions of a provider's client to the project's errors."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import httpx2
import msgspec
from aiohttp.http_exceptions import HttpProcessingError
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.client_options import ClientOptions
from hermes_jobs.llm.errors import (
    ApiRefusal,
    classify,
    model_error,
    parse_refusal,
    shortened,
    unreadable_answer,
)

UNTRUSTED = (
    "The server's certificate is not trusted: name a file with its issuer in SSL_CERT_FILE, or use http for "
    "a server on this machine."
)
"""The hint for an untrusted certificate."""


def unreachable(error: Exception, url: str) -> str:
    """A sentence about the reason why the endpoint cannot be reached."""
    error_chain = list(causes(error))
    for cause in error_chain:
        if isinstance(cause, aiohttp.ClientProxyConnectionError):
            return (
                f"Nothing answers at the proxy {cause.host}:{cause.port}, which the environment names "
                "(HTTPS_PROXY, HTTP_PROXY or ALL_PROXY; NO_PROXY lists the hosts that need none)."
            )
    if any(isinstance(cause, socket.gaierror) for cause in error_chain):
        return f"The name in {url} cannot be resolved."
    if any(isinstance(cause, ConnectionRefusedError) for cause in error_chain):
        return f"Nothing answers at {url}: the connection was refused."
    if any(isinstance(cause, ssl.SSLError) for cause in error_chain):
        return f"No secure connection to {url}: {root(error)}"
    return f"The connection to {url} failed: {root(error)}"


def is_cut(error: Exception) -> bool:
    """Whether the connection failed; the clients' layer over aiohttp reports that as a timeout too."""
    return any(
        isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, TimeoutError)
        for cause in causes(error)
    )


def root(error: Exception) -> str:
    """The message of the first cause, in one line; its class name if it has none."""
    *_, last = causes(error)
    # aiohttp puts a status before its message, although the server never sent one.
    text = last.message if isinstance(last, HttpProcessingError) else str(last)
    return " ".join(text.split()) or type(last).__name__


def is_untrusted(error: Exception) -> bool:
    """Whether the server's certificate is not trusted; a retry does not help."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, in this order."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__


CONNECT_SECONDS = 30.0
_IDLE_HINT = "Try again; where the model thinks for long without a word, raise model.idle_timeout."
_BROKEN = "The provider or the network failed: try again later."


class ErrorMapper:
    """Maps the exceptions of one client. `sdk`: its module, `openai` or `anthropic`.

    Both are made by the same generator: their exceptions have the same names. `key` empty: none is sent.
    """

    def __init__(
        self, sdk: Any, *, base_url: str, key: str, idle_timeout: float, timeout: float | None
    ) -> None:
        self._sdk = sdk
        self._base_url = base_url
        self._secrets = (key,) if key else ()
        self._idle_timeout = idle_timeout
        self._timeout = timeout

    @classmethod
    def of(cls, sdk: Any, options: ClientOptions) -> ErrorMapper:
        """That of a client made with these options."""
        return cls(
            sdk,
            base_url=options.base_url,
            key=options.api_key,
            idle_timeout=options.idle_timeout,
            timeout=options.timeout,
        )

    def error(self, error: Exception, *, has_begun: bool, usage: Usage, expired: bool = False) -> ModelError:
        """The mapped error. `has_begun`: some data has arrived; `expired`: the whole call took too long."""
        sdk = self._sdk
        match error:
            case TimeoutError() if expired:
                took = f"No complete answer within {self._timeout:g} s (model.timeout)."
                return self.made("timeout", took, usage, lasting=has_begun)
            case sdk.APIStatusError():
                return self.refused(self.refusal(error), NO_USAGE)
            case sdk.APITimeoutError() | TimeoutError() | httpx2.TimeoutException() if not is_cut(error):
                return self.made("timeout", self._silence(error), usage, _IDLE_HINT)
            case sdk.APIConnectionError() | httpx2.TransportError() if has_begun:
                return self.made(
                    "garbage", f"The answer broke off in the middle: {root(error)}", usage, _BROKEN
                )
            case sdk.APIConnectionError() | httpx2.TransportError():
                untrusted = is_untrusted(error)
                text = unreachable(error, self._base_url)
                return self.made("connection", text, usage, UNTRUSTED * untrusted, lasting=untrusted)
            case json.JSONDecodeError():
                return self.garbage("holds a chunk that is not JSON", usage, error.doc)
            case UnicodeError():
                return self.garbage("is not UTF-8", usage)
            case _:
                return self.made("unknown", f"{type(error).__name__}: {error}", usage)

    def refusal(self, error: Any) -> ApiRefusal:
        """The content of a response with an error status."""
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        text: str = error.response.text
        try:
            details = parse_refusal(msgspec.json.decode(text), status=error.status_code, headers=headers)
        except msgspec.MsgspecError:
            details = None
        return details or ApiRefusal(message=shortened(text), status=error.status_code, headers=headers)

    def refused(self, refusal: ApiRefusal, usage: Usage) -> ModelError:
        """The error for a refusal that arrived now."""
        return classify(replace(refusal, at=time.time()), secrets=self._secrets, usage=usage)

    def decoded(self, body: bytes, usage: Usage) -> Any:
        """The JSON of a complete answer. Raises `ModelError`."""
        text = body.decode("utf-8", "replace")
        try:
            return json.loads(text)
        except ValueError:
            raise self.garbage("is not JSON" if text.strip() else "is empty", usage, text) from None

    def garbage(self, what: str, usage: Usage, excerpt: str = "") -> ModelError:
        """The error for an unusable answer; `what` completes the sentence "The endpoint's answer …"."""
        return unreadable_answer(what, excerpt, secrets=self._secrets, usage=usage)

    def made(
        self, kind: str, message: str, usage: Usage, hint: str = "", *, lasting: bool = False
    ) -> ModelError:
        """A `ModelError` of that kind."""
        return model_error(kind, message, hint=hint, lasting=lasting, secrets=self._secrets, usage=usage)

    def _silence(self, error: Exception) -> str:
        if any(isinstance(cause, httpx2.ConnectTimeout) for cause in causes(error)):
            return f"No connection to {self._base_url} within {CONNECT_SECONDS:g} s."
        return f"No data for {self._idle_timeout:g} s (model.idle_timeout)."
