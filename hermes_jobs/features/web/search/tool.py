"""The `web_search` tool: results of the configured provider as title, address and snippet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from hermes_jobs.features.web.caution import CAUTION
from hermes_jobs.features.web.search.query import (
    Age,
    Hit,
    SearchFailed,
    SearchQuery,
    SearchResults,
    WebSearcher,
    one_line,
)
from hermes_jobs.kernel.engine.ports import Cancel, StepInterrupted, ToolContext, ToolOutcome
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, tool

RESULT_CHARS = 12_000
TITLE_CHARS = 150
URL_CHARS = 1_000
SNIPPET_CHARS = 700
DOMAIN = r"^[^\s/:@\"]+\.[^\s/:@\".]+$"


def _search(arguments: Arguments, _context: ToolContext) -> str:
    return f"a search for {arguments['query']}"


class WebSearch:
    """Searches with the provider from `searcher`, which may raise `SearchFailed` itself."""

    def __init__(self, title: str, searcher: Callable[[], WebSearcher], today: Callable[[], date]) -> None:
        self._title = title
        self._searcher = searcher
        self._today = today

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tool, with the provider's name in its description."""
        made_tool = tool(toolset="web", effect="read", outside=_search)(self.web_search)
        return (replace(made_tool, description=made_tool.description.replace("PROVIDER", self._title)),)

    def web_search(
        self,
        cancel: Cancel,
        query: Annotated[str, Meta(min_length=1, max_length=400, description="What to search for.")],
        count: Annotated[int, Meta(ge=1, le=20, description="How many results at most.")] = 8,
        newer_than: Annotated[
            Age | None, "Only what was published in the last day, week, month or year."
        ] = None,
        site: Annotated[
            Annotated[str, Meta(pattern=DOMAIN, max_length=253)] | None,
            "Only results of this domain, such as docs.python.org.",
        ] = None,
    ) -> ToolOutcome:
        """Search the public web with PROVIDER: titles, addresses and snippets, best first.

        Snippets are short and may be out of date: read what matters with web_fetch. Several searches of one
        message run side by side.
        """
        search = SearchQuery(
            text=query, limit=count, newer_than=newer_than, site=site or "", today=self._today()
        )
        try:
            results = self._searcher().search(search, cancel)
        except StepInterrupted:
            return ToolOutcome(content="Interrupted.", ok=False, interrupted=True)
        except SearchFailed as failed:
            raise ToolFailed(describe_failure(failed)) from failed
        return ToolOutcome(content=list_results(results, search, self._title))


def describe_failure(failed: SearchFailed) -> str:
    """The failure as text for the model, with a hint."""
    match failed.kind:
        case "rate" | "unreachable":
            advice = "Go on without it, or try again later."
        case "query":
            advice = "Ask in other words."
        case _:
            advice = "Trying again will not help: tell the user."
    return " ".join(
        filter(None, (f"nothing was found: {failed.message}", failed.hint and f"{failed.hint}.", advice))
    )


def list_results(results: SearchResults, query: SearchQuery, title: str) -> str:
    """The results as text for the model: a header, the caution, then each with its number."""
    texts: list[str] = []
    remaining = RESULT_CHARS
    usable = [result for result in results.hits if is_web_address(result.url)]
    for number, hit in enumerate(usable, 1):
        text = _shown(number, hit)
        if len(text) > remaining:
            break
        texts.append(text)
        remaining -= len(text)
    words = one_line(query.with_operator, 200)
    note = f"; {results.note}" if results.note else ""
    if not texts:
        return f"[{title} has no results for “{words}”{note}]"
    many = "1 result" if len(texts) == 1 else f"{len(texts)} results"
    header = f"[{many} of {title} for “{words}”{note}]"
    return "\n\n".join((f"{header}\n{CAUTION}", *texts))


def is_web_address(url: str) -> bool:
    """Whether the text can be the address of a page."""
    if len(url) > URL_CHARS or any(character.isspace() for character in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _shown(number: int, hit: Hit) -> str:
    title = one_line(hit.title, TITLE_CHARS) or "(no title)"
    snippet = one_line(hit.snippet, SNIPPET_CHARS)
    when = one_line(hit.published, 40)
    last = " · ".join(filter(None, (when, snippet)))
    return "\n".join(
        filter(None, (f"{number}. {title}", f"   {one_line(hit.url, URL_CHARS)}", last and f"   {last}"))
    )
