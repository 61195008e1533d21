"""How a client of an endpoint reaches it: certificates and proxies of the environment.

The HTTP library reads SSL_CERT_FILE, SSL_CERT_DIR and the proxies' variables itself; only a certificate file
that does not exist is looked up here, because the library's error names neither the variable nor the path. A
server on this machine is reached without a proxy, and plain HTTP needs no certificates.
"""

from __future__ import annotations

import os
import re
import ssl
from ipaddress import ip_address
from typing import NamedTuple, TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from hermes_jobs.llm.errors import model_error


class HttpOptions(TypedDict):
    """Arguments of an HTTP client."""

    verify: ssl.SSLContext | bool
    trust_env: bool


def http_options(url: str) -> HttpOptions:
    """The options for that address. Raises `ModelError` where a named certificate file does not exist."""
    parts = urlsplit(url)
    if parts.scheme == "http":
        if _is_loopback(parts.hostname or ""):
            # Reading the system's certificates takes 25 ms. Without them, a redirect to https is refused.
            return {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "trust_env": False}
        # OpenSSL's own default skips a missing file: for a redirect to https, nothing would be trusted.
        return {"verify": ssl.create_default_context() if missing_certificates() else True, "trust_env": True}
    if (problem := missing_certificates()) is not None:
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


def missing_certificates() -> str | None:
    """A sentence about a variable of certificates whose path does not exist; None where all is well."""
    for name, exists in (("SSL_CERT_FILE", os.path.isfile), ("SSL_CERT_DIR", os.path.isdir)):
        path = os.environ.get(name)
        if path:
            return None if exists(path) else f"{name} is set to {path}, which does not exist."
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
