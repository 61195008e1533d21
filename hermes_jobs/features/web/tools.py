"""The `web_fetch` tool: a public page as text, in parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from hermes_jobs.features.web.caution import CAUTION
from hermes_jobs.features.web.search.tool import WebSearch
from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, ToolOutcome
from hermes_jobs.kernel.events import CallPattern
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.moments import day_of
from hermes_jobs.tools.subprocess_call import request, responses
from hermes_jobs.tools.text_pages import PAGE_CHARS
from hermes_jobs.tools.tool import Arguments, CallRules, NothingRead, Tool, ToolFailed, tool

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.web.search.query import WebSearcher
    from hermes_jobs.settings import Settings
    from hermes_jobs.settings.search_providers import SearchName

KILL_GRACE_SECONDS = 5  # seconds more, after which the process is killed without a response
HEADER_CHARS = 1_000
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, kw_only=True)
class WebOptions:
    """`allow_private`: also this host and its networks. `environ` may have the path of certificates."""

    allow_private: bool = False
    max_bytes: int = 5 * 1024 * 1024
    seconds: int = 30
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to fetch. `offset` and `room` are characters of the text."""

    url: str
    allow_private: bool
    max_bytes: int
    seconds: int
    offset: int
    limit_chars: int


class FetchedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a page's text, or `wrong`, the error. `url` is its final address, without query; `unread`:
    no server was reached, so that none has written anything of this."""

    url: str = ""
    status: int = 0
    content_type: str = ""
    text: str = ""
    length: int = 0
    wrong: str | None = None
    unread: bool = False


class AddressRules(CallRules):
    """Rules for addresses: the whole of one, or with `*` for any part of it."""

    def is_named(self, calls: CallPattern, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.is_named`."""
        return fnmatchcase(arguments["url"], calls.pattern)

    def offer(self, tool: str, arguments: Arguments, context: ToolContext) -> CallPattern:
        """See `CallRules.offer`: the pages of that host."""
        address = urlsplit(arguments["url"])
        pattern = f"{address.scheme}://{address.netloc}/*"
        return CallPattern(tool=tool, pattern=pattern, folder=context.workdir)


def _address(arguments: Arguments, _context: ToolContext) -> str:
    return str(arguments["url"])


class Web:
    """Fetches pages directly, never through a proxy: its target address could not be checked."""

    def __init__(self, options: WebOptions) -> None:
        self._options = options
        self._environment = {name: options.environ[name] for name in CERTIFICATES if name in options.environ}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""
        made_tool = tool(toolset="web", effect="read", rules=AddressRules(), outside=_address)
        return (made_tool(self.web_fetch),)

    def web_fetch(
        self,
        cancel: Cancel,
        url: Annotated[str, Meta(min_length=1, max_length=8_000, description="http or https.")],
        offset: Annotated[int, Meta(ge=0, description="Characters to skip.")] = 0,
    ) -> ToolOutcome:
        """Fetch a page of the public web as text: HTML as Markdown, JSON and plain text unchanged.

        At most 50,000 characters per call; the first line says how to continue. Scripts are not run.
        """
        page = PageRequest(
            url=url,
            allow_private=self._options.allow_private,
            max_bytes=self._options.max_bytes,
            seconds=self._options.seconds,
            offset=offset,
            limit_chars=PAGE_CHARS - HEADER_CHARS,
        )
        completed = request(
            "hermes_jobs.features.web.fetch_process",
            page,
            env=self._environment,
            timeout=page.seconds + KILL_GRACE_SECONDS,
            cancel=cancel,
        )
        if completed.interrupted:
            return ToolOutcome(content="Interrupted.", ok=False, interrupted=True)
        answers = [
            msgspec.convert(response, described(FetchedPage))
            for response in responses(completed)
            if isinstance(response, dict)
        ]
        if not answers:
            reason = f"it took longer than {page.seconds} s" if completed.timed_out else "it broke the parser"
            raise ToolFailed(f"nothing was fetched: {reason}.")
        return outcome(answers[-1], offset)


def outcome(fetched: FetchedPage, offset: int) -> ToolOutcome:
    """The page as the model reads it: a header with its address and status, then the text."""
    if fetched.wrong is not None:
        raise (NothingRead if fetched.unread else ToolFailed)(f"nothing was fetched: {fetched.wrong}")
    if fetched.length and offset >= fetched.length:
        raise ToolFailed(f"the text has {fetched.length:,} characters; offset {offset:,} is behind them.")
    end = offset + len(fetched.text)
    part = f"characters {offset + 1:,}–{end:,} of {fetched.length:,}" if fetched.length else "no text"
    more = f"; continue with offset={end}" if end < fetched.length else ""
    status = "" if fetched.status == HTTPStatus.OK else f", HTTP {fetched.status}{_phrase(fetched.status)}"
    header = f"[{fetched.url[:500]}, {fetched.content_type}{status}: {part}{more}]"
    ok = fetched.status < HTTPStatus.BAD_REQUEST
    return ToolOutcome(content=f"{header}\n{CAUTION}\n{fetched.text}", ok=ok)


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def web_tools(application: Application) -> Iterator[Tool]:
    """The tools, as configured; without a provider none that searches."""
    settings, environ, clock = application.settings, application.environ, application.clock
    yield from Web(WebOptions(allow_private=settings.web.allow_private, environ=environ)).tools
    if (name := settings.web.search.provider) is not None:
        yield from WebSearch(
            SEARCH_PROVIDERS[name].title,
            lambda: create_web_searcher(settings, name, environ),
            lambda: date.fromisoformat(day_of(clock.now(), settings.zone)),
        ).tools


def create_web_searcher(settings: Settings, name: SearchName, environ: Mapping[str, str]) -> WebSearcher:
    """That search provider as configured. Raises `SearchFailed` where what it needs is not."""
    from hermes_jobs.features.web.search.http_searcher import create_searcher

    key = SEARCH_PROVIDERS[name].key
    secret = settings.secrets.get(key) if key is not None else None
    return create_searcher(name, settings.web.search.base_url, secret, environ)
