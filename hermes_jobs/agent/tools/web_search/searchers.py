"""The searcher of a configured provider."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_jobs.agent.tools.web_search.brave import Brave
from hermes_jobs.agent.tools.web_search.catalogue import SEARCH_PROVIDERS, SearchName
from hermes_jobs.agent.tools.web_search.duckduckgo import DuckDuckGo
from hermes_jobs.agent.tools.web_search.exa import Exa
from hermes_jobs.agent.tools.web_search.http_searcher import HttpSearcher
from hermes_jobs.agent.tools.web_search.query import SearchApi, SearchFailed, WebSearcher
from hermes_jobs.agent.tools.web_search.searxng import SearXNG
from hermes_jobs.agent.tools.web_search.tavily import Tavily


def create_searcher(
    name: SearchName, base_url: str | None, secret: str | None, environ: Mapping[str, str]
) -> WebSearcher:
    """The provider of that name, at `base_url` where that is not its own, with that key.

    Raises `SearchFailed` where what it needs is not configured.
    """
    provider = SEARCH_PROVIDERS[name]
    if provider.key is not None and not secret:
        hint = f"Put {provider.key}=… into .env in the home. Keys: {provider.keys_at}"
        raise SearchFailed("auth", f"{provider.title} needs a key, and {provider.key} is not set.", hint=hint)
    if name == "duckduckgo":
        return DuckDuckGo(environ)
    address = base_url or provider.base_url
    if address is None:
        hint = "hermes-jobs config set web.search.base_url http://127.0.0.1:8888"
        raise SearchFailed("unavailable", f"{provider.title} needs web.search.base_url.", hint=hint)
    key = secret or ""
    api: SearchApi
    match name:
        case "searxng":
            api = SearXNG()
        case "brave":
            api = Brave(key)
        case "tavily":
            api = Tavily(key)
        case "exa":
            api = Exa(key)
    return HttpSearcher(provider, api, address, secret=key)
