"""The known search providers.

`docs` of each entry is the source of its module's requests and responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

SearchName = Literal["searxng", "brave", "tavily", "exa", "duckduckgo"]


class SearchProvider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider.

    `base_url` None: a self-hosted instance, whose address must be configured. `key`: the variable of its
    key; None: it needs none. `note`: information for the choice.
    """

    name: SearchName
    title: str
    docs: str
    base_url: str | None = None
    key: str | None = None
    keys_at: str = ""
    note: str = ""


SEARCH_PROVIDERS: Mapping[SearchName, SearchProvider] = {
    entry.name: entry
    for entry in (
        SearchProvider(
            name="searxng",
            title="SearXNG",
            docs="https://docs.searxng.org/dev/search_api.html",
            note="an instance of your own, whose settings.yml offers `json` among the formats of `search`",
        ),
        SearchProvider(
            name="brave",
            title="Brave Search",
            docs="https://api-dashboard.search.brave.com/api-reference/web/search/get",
            base_url="https://api.search.brave.com/res/v1",
            key="BRAVE_API_KEY",
            keys_at="https://api-dashboard.search.brave.com/app/keys",
            note="an index of its own",
        ),
        SearchProvider(
            name="tavily",
            title="Tavily",
            docs="https://docs.tavily.com/documentation/api-reference/endpoint/search",
            base_url="https://api.tavily.com",
            key="TAVILY_API_KEY",
            keys_at="https://app.tavily.com/home",
            note="made for language models; long snippets",
        ),
        SearchProvider(
            name="exa",
            title="Exa",
            docs="https://exa.ai/docs/reference/search",
            base_url="https://api.exa.ai",
            key="EXA_API_KEY",
            keys_at="https://dashboard.exa.ai/api-keys",
            note="searches by meaning; dates of publication",
        ),
        SearchProvider(
            name="duckduckgo",
            title="DuckDuckGo",
            docs="https://github.com/deedy5/ddgs",
            note="no key and no promise: there is no API, and who asks often is turned away for a while",
        ),
    )
}

SEARCH_KEYS = tuple(entry.key for entry in SEARCH_PROVIDERS.values() if entry.key is not None)
"""The variables of all keys."""

ALSO_CALLED: Mapping[str, SearchName] = {
    "ddg": "duckduckgo",
    "ddgs": "duckduckgo",
    "searx": "searxng",
    "brave-search": "brave",
}
"""Alternative names of providers."""


def search_provider_named(name: str) -> SearchProvider | None:
    """The provider of that name or alternative name, in any case."""
    normalized = name.strip().lower()
    names = {str(entry): entry for entry in SEARCH_PROVIDERS}
    provider = names.get(normalized) or ALSO_CALLED.get(normalized)
    return None if provider is None else SEARCH_PROVIDERS[provider]
