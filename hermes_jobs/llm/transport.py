"""How a client of an endpoint reaches it: certificates and proxies of the environment.

The HTTP library reads SSL_CERT_FILE, SSL_CERT_DIR and the proxies' variables itself; what is wrong with them
is looked up here, because the library's errors name neither the variable nor the path. A server on this
machine is reached without a proxy, and plain HTTP needs no certificates.
"""

from __future__ import annotations

import os
import re
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple, TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from urllib.request import getproxies

import httpx2

from hermes_jobs.llm.errors import model_error


class HttpOptions(TypedDict):
    """Arguments of an HTTP client."""

    verify: ssl.SSLContext | bool
    trust_env: bool


def http_options(url: str) -> HttpOptions:
    """The options for that address. Raises `ModelError` if a variable names no certificates or no proxy."""
    parts = urlsplit(url)
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        # Reading the system's certificates takes 25 ms. Without them, a redirect to https is refused.
        return {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "trust_env": False}
    if (problem := _proxy_problem()) is not None:
        hint = "Correct the variable, or unset it. It looks like http://HOST:PORT or socks5://HOST:PORT."
        raise model_error("connection", problem, hint=hint, lasting=True)
    problem = _certificate_problem()
    if parts.scheme == "http":
        # OpenSSL's own default skips a missing file: for a redirect to https, nothing would be trusted.
        return {"verify": _nothing_trusted() if problem else True, "trust_env": True}
    if problem is not None:
        hint = "Correct the variable, or unset it: then the system's certificates count."
        raise model_error("connection", problem, hint=hint, lasting=True)
    return {"verify": True, "trust_env": True}


class Address(NamedTuple):
    """An address as a client takes it: without its query, which every request gets."""

    base_url: str
    query: dict[str, str]

    @classmethod
    def of(cls, url: str) -> Address:
        """The parts of a configured address.

        Azure's older form has the deployment in its path and the version in its query; its portal shows it
        with the operation: `https://NAME.openai.azure.com/openai/deployments/D/chat/completions?api-version=V`
        (https://learn.microsoft.com/azure/ai-foundry/openai/reference).
        """
        parts = urlsplit(url)
        if not parts.query:
            return cls(url, {})
        path = re.sub(r"/(?:chat/completions|responses|embeddings)/?$", "", parts.path)
        return cls(urlunsplit((parts.scheme, parts.netloc, path, "", "")), dict(parse_qsl(parts.query)))

    def headers(self, key: str) -> dict[str, str]:
        """The headers of requests beside the usual ones: Azure's older form takes keys in its own."""
        return {"api-key": key} if key and "api-version" in self.query else {}

    def joined(self, path: str) -> str:
        """The address of a path below it."""
        query = f"?{urlencode(self.query)}" if self.query else ""
        return f"{self.base_url.rstrip('/')}{path}{query}"


def _certificate_problem() -> str | None:
    """A sentence about a variable of certificates that names none; None where all is well.

    As the library does, SSL_CERT_DIR is read only without SSL_CERT_FILE.
    """
    if path := os.environ.get("SSL_CERT_FILE"):
        try:
            ssl.create_default_context(cafile=path)
        except FileNotFoundError:
            return f"SSL_CERT_FILE is set to {path}, which does not exist."
        except ssl.SSLError:
            return f"SSL_CERT_FILE is set to {path}, which holds no certificates in PEM form."
        except OSError as error:
            return f"SSL_CERT_FILE is set to {path}, which cannot be read: {error.strerror}."
    elif (folder := os.environ.get("SSL_CERT_DIR")) and not Path(folder).is_dir():
        return f"SSL_CERT_DIR is set to {folder}, which does not exist."
    return None


def _nothing_trusted() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


_PROXIES = ("http", "https", "all")


def _proxy_problem() -> str | None:
    """A sentence about a proxy's variable that is no address, without its value: that may hold a password."""
    for scheme, address in getproxies().items():
        if scheme not in _PROXIES:
            continue
        try:
            httpx2.Proxy(address if "://" in address else f"http://{address}")
        except (httpx2.InvalidURL, ValueError):
            return f"{scheme.upper()}_PROXY in the environment is not the address of a proxy."
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
