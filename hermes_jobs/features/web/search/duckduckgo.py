"""DuckDuckGo through the library `ddgs`, in a subprocess: it reads web pages, not an API."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import msgspec

from hermes_jobs.features.web.search.query import (
    Age,
    FailureKind,
    Hit,
    SearchFailed,
    SearchQuery,
    SearchResults,
)
from hermes_jobs.kernel.engine.ports import Cancel, StepInterrupted
from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.subprocess_call import request, responses

INSTALL = "pip install 'hermes-jobs[duckduckgo]'"
SECONDS = 20
KILL_GRACE_SECONDS = 5.0  # seconds more, after which the process is killed without a response
PASSED_VARIABLES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    *(f"{scheme}_PROXY" for scheme in ("HTTP", "HTTPS", "ALL", "NO")),
    *(f"{scheme}_proxy" for scheme in ("http", "https", "all", "no")),
)
"""Variables for proxies and certificates."""


class DuckDuckGoQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The request to the subprocess. `seconds`: its time limit."""

    text: str
    limit: int
    newer_than: Age | None
    seconds: int


class SearchResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The response: results, or the error."""

    hits: tuple[Hit, ...] = ()
    kind: FailureKind | None = None
    message: str = ""


def is_installed() -> bool:
    """Whether this installation has the library."""
    return find_spec("ddgs") is not None


class DuckDuckGo:
    """DuckDuckGo. `environ` may have proxies and certificates."""

    title = "DuckDuckGo"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {name: environ[name] for name in PASSED_VARIABLES if name in environ}

    def search(self, query: SearchQuery, cancel: Cancel) -> SearchResults:
        """See `WebSearcher.search`."""
        if not is_installed():
            raise SearchFailed("unavailable", "DuckDuckGo is searched through ddgs.", hint=INSTALL)
        sent = DuckDuckGoQuery(
            text=query.with_operator, limit=query.limit, newer_than=query.newer_than, seconds=SECONDS
        )
        completed = request(
            "hermes_jobs.features.web.search.duckduckgo_process",
            sent,
            env=self._environ,
            timeout=SECONDS + KILL_GRACE_SECONDS,
            cancel=cancel,
        )
        if completed.interrupted:
            raise StepInterrupted
        answers = [
            msgspec.convert(response, described(SearchResponse))
            for response in responses(completed)
            if isinstance(response, dict)
        ]
        if not answers:
            raise SearchFailed("unreachable", f"DuckDuckGo did not answer within {SECONDS} s.")
        answer = answers[-1]
        if answer.kind is not None:
            raise SearchFailed(answer.kind, answer.message)
        return SearchResults(answer.hits)
