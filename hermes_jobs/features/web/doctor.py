"""The check of `hermes-jobs doctor` for web search; `setup` tests a provider in the same way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING

from hermes_jobs.features.web.search.query import SearchFailed, SearchQuery
from hermes_jobs.features.web.tools import create_web_searcher
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, fail, ok, warn
from hermes_jobs.interfaces.cli.exit_codes import CREDENTIALS, FAILED
from hermes_jobs.settings import Settings
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS, SearchName

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

CHECK = "web"
TEST_QUERY = "open source"  # the test query: every index has pages about it


def checks(application: Application, *, live: bool) -> Iterator[DoctorFinding]:
    """The check of this feature."""
    return web_search(application.settings, application.environ, live=live)


def web_search(settings: Settings, environ: Mapping[str, str], *, live: bool) -> Iterator[DoctorFinding]:
    """Whether the configured provider's requirements are met; with `live` one search, which may cost."""
    name = settings.web.search.provider
    if name is None:
        yield ok(CHECK, "no web search; choose a provider: hermes-jobs setup --search NAME")
        return
    if not {"web"} & set(settings.toolsets.enabled) - set(settings.toolsets.disabled):
        text = f"{SEARCH_PROVIDERS[name].title}, and the toolset web is off"
        yield warn(CHECK, text, "Enable it: toolsets.enabled.")
        return
    missing = missing_of(settings, name, environ)
    if missing is not None:
        yield warn(CHECK, missing.message, missing.hint)
        return
    if not live:
        key = SEARCH_PROVIDERS[name].key
        by = f"with the key {key}" if key else f"at {settings.web.search.base_url}"
        if name == "duckduckgo":
            by = "without a key"
        yield ok(CHECK, f"searched by {SEARCH_PROVIDERS[name].title}, {by}")
        return
    try:
        text = try_search(settings, name, environ)
    except SearchFailed as failed:
        code = CREDENTIALS if failed.kind == "auth" else FAILED
        yield fail(f"live.{CHECK}", failed.message, failed.hint, code=code)
        return
    yield ok(f"live.{CHECK}", text)


def missing_of(settings: Settings, name: SearchName, environ: Mapping[str, str]) -> SearchFailed | None:
    """That provider's missing requirements."""
    from hermes_jobs.features.web.search.duckduckgo import INSTALL, is_installed

    if name == "duckduckgo" and not is_installed():
        return SearchFailed("unavailable", "DuckDuckGo is searched through ddgs.", hint=INSTALL)
    try:
        create_web_searcher(settings, name, environ)
    except SearchFailed as failed:
        return failed
    return None


def try_search(settings: Settings, name: SearchName, environ: Mapping[str, str]) -> str:
    """The result of one search with that provider. Raises `SearchFailed`."""
    from hermes_jobs.kernel.engine.in_flight import CancelToken

    started = time.monotonic()
    query = SearchQuery(text=TEST_QUERY, limit=1, today=date.min)
    results = create_web_searcher(settings, name, environ).search(query, CancelToken())
    seconds = time.monotonic() - started
    text = f"{SEARCH_PROVIDERS[name].title} answered in {seconds:.1f} s"
    return text if results.hits else f"{text}, and found nothing"
