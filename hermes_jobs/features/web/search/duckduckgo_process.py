"""One search with `ddgs`, in a subprocess of `subprocess_call`.

A hostile page can crash the parser or use up its memory there without harm. Only DuckDuckGo itself is
used, although the library supports other engines.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from hermes_jobs.features.web.search.duckduckgo import DuckDuckGoQuery, SearchResponse
from hermes_jobs.features.web.search.query import Age, FailureKind, Hit, one_line
from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.subprocess_call import REQUEST, respond

ANY_REGION = "wt-wt"
MAX_MEMORY = 2 * 1024**3
NO_RESULTS = "No results found."
_AGES: Mapping[Age, str] = {"day": "d", "week": "w", "month": "m", "year": "y"}


def main() -> None:
    """Handle the request in the environment."""
    query = msgspec.json.decode(os.environ[REQUEST], type=described(DuckDuckGoQuery))
    with suppress(ValueError, OSError):  # not every system has it
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    respond(msgspec.to_builtins(search_response(query)))


def search_response(query: DuckDuckGoQuery) -> SearchResponse:
    """The results, or why there are none."""
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException

    try:
        results = DDGS(proxy=_proxy(os.environ), timeout=query.seconds).text(
            query.text,
            region=ANY_REGION,
            timelimit=_AGES[query.newer_than] if query.newer_than else None,
            max_results=query.limit,
            backend="duckduckgo",
        )
    except DDGSException as error:
        return _failure(error)
    return SearchResponse(
        hits=tuple(Hit(result.get("title", ""), result["href"], result.get("body", "")) for result in results)
    )


def _failure(error: Exception) -> SearchResponse:
    """What the library's exception means.

    It is the same for an empty page and for a page with a CAPTCHA.
    """
    from ddgs.exceptions import RatelimitException, TimeoutException

    message = one_line(str(error), 200).partition(":")[0]  # the rest repeats it
    if message == NO_RESULTS:
        text = "DuckDuckGo gave no results: it has none, or it turns this address away for a while."
        return SearchResponse(kind="rate", message=text)
    kind: FailureKind = "unreachable"
    if isinstance(error, RatelimitException):
        return SearchResponse(kind="rate", message="DuckDuckGo takes no more searches right now.")
    if isinstance(error, TimeoutException):
        return SearchResponse(kind=kind, message="DuckDuckGo did not answer in time.")
    return SearchResponse(kind=kind, message=f"DuckDuckGo cannot be reached ({message}).")


def _proxy(environ: Mapping[str, str]) -> str | None:
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    return next((environ[name] for name in names if environ.get(name)), None)


if __name__ == "__main__":
    main()
