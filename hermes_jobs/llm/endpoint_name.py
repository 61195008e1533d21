"""The name of an endpoint in the log."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def endpoint_name(base_url: str | None) -> str:
    """The URL of the endpoint (None: OpenAI's) without user, password and query, which may be secret."""
    from hermes_jobs.llm.dialect import OPENAI_URL

    parts = urlsplit(base_url or OPENAI_URL)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
